/** Collects garbage and lets finalizers run; Node shows no other way without a flag at its start. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

export async function collectGarbage(): Promise<void> {
	for (let round = 0; round < 5; round += 1) {
		collect();
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
}
