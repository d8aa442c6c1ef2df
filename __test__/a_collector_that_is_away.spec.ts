import test from 'ava';
import type { ExporterStats } from '../lib/index.ts';
import type { KernelFlow } from './support/kernel.ts';
import { inNamespace } from './support/namespace.ts';
import type { FlowSum } from './support/records.ts';

interface Report {
	startedWithout: boolean;
	refusals: number;
	away: ExporterStats;
	kernel: KernelFlow[];
	exported: FlowSum[];
	losses: unknown[];
}

const report = inNamespace<Report>('missing_collector');

test('start does not wait for a collector, and polling goes on without one', async (t) => {
	const { startedWithout, refusals, away } = await report;
	t.true(startedWithout);
	t.true(refusals >= 2, 'it was tried again');
	t.true((away.table?.polls ?? 0) >= 10);
	t.is(away.table?.pollFailures, 0);
	t.is(away.batchesInFlight, 0, 'nothing is taken that nobody can get');
	t.is(away.table?.connections, 25);
	t.true(['connecting', 'backoff'].includes(away.collectors[0]?.state ?? ''));
});

test('when it comes, it gets every live flow once, with all that the kernel counted', async (t) => {
	const { kernel, exported, losses } = await report;
	t.is(kernel.length, 25);
	const sums = new Map(exported.map((sum) => [sum.key, sum]));
	for (const flow of kernel) {
		const sum = sums.get(flow.key);
		t.is(sum?.records, 1, flow.key);
		t.deepEqual(
			[sum?.packets, sum?.octets, sum?.reversePackets, sum?.reverseOctets],
			[flow.packets, flow.octets, flow.reversePackets, flow.reverseOctets],
			flow.key,
		);
	}
	t.is(exported.length, 25);
	t.deepEqual(losses, []);
});
