import test from 'ava';
import type { ExporterStats } from '../lib/index.ts';
import type { KernelFlow } from './support/kernel.ts';
import { inNamespace } from './support/namespace.ts';
import type { FlowSum } from './support/records.ts';

interface Report {
	kernel: KernelFlow[];
	reasons: string[];
	away: ExporterStats;
	exported: FlowSum[];
	losses: unknown[];
}

test('a collector that half-closes, goes silent and cannot be reached gets every flow once when it is back', async (t) => {
	const { kernel, reasons, away, exported, losses } = await inNamespace<Report>('bad_days');
	t.regex(reasons[0] ?? '', /^closed by the collector$/);
	t.regex(reasons[1] ?? '', /^stalled: \d+ octets wait and none was taken for 400 ms$/);
	t.regex(reasons[2] ?? '', /no answer within 300 ms$/);
	t.is(away.batchesInFlight, 0, 'what was unsettled went back to the table');
	t.is(away.collectors[0]?.unsettledBytes, 0);
	t.is(kernel.length, 500);
	const sums = new Map(exported.map((sum) => [sum.key, sum]));
	t.deepEqual(
		kernel.filter(({ key, octets }) => sums.get(key)?.records !== 1 || sums.get(key)?.octets !== octets),
		[],
	);
	t.deepEqual(losses, []);
});
