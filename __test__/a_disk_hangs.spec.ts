import test from 'ava';
import type { ExporterStats } from '../lib/index.ts';
import { inNamespace } from './support/namespace.ts';

interface Outcome {
	reasons: string[];
	losses: ExporterStats['losses'];
}

const result = inNamespace<{ all: Outcome; failover: Outcome; stopped: Outcome & { missing: number } }>(
	'hung_disk',
);

test('a disk that hangs in fsync holds up no other collector, and what is not safe goes elsewhere', async (t) => {
	const { all, failover } = await result;
	for (const { reasons, losses } of [all, failover]) {
		t.deepEqual(reasons, ['fsync: the disk has not answered for 10000 ms']);
		t.deepEqual(losses, []);
	}
});

test('at a stop, too, what a hung disk was given goes to the next collector', async (t) => {
	const { reasons, losses, missing } = (await result).stopped;
	t.deepEqual(reasons, ['fsync: the disk has not answered for 1000 ms']);
	t.deepEqual([losses, missing], [[], 0]);
});
