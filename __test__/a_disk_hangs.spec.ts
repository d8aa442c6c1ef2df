import test from 'ava';
import type { ExporterStats } from '../lib/index.ts';
import { inNamespace } from './support/namespace.ts';

interface Outcome {
	reasons: string[];
	losses: ExporterStats['losses'];
}

test('a disk that hangs in fsync holds up no other collector, and what is not safe goes elsewhere', async (t) => {
	const { outcome } = await inNamespace<{ outcome: [Outcome, Outcome] }>('hung_disk');
	for (const { reasons, losses } of outcome) {
		t.deepEqual(reasons, ['fsync: the disk has not answered for 10000 ms']);
		t.deepEqual(losses, []);
	}
});
