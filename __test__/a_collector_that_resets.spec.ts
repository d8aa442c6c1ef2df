import test from 'ava';
import type { ExporterStats } from '../lib/index.ts';
import type { KernelFlow } from './support/kernel.ts';
import { inNamespace } from './support/namespace.ts';
import type { FlowSum } from './support/records.ts';

interface Report {
	kernel: KernelFlow[];
	exported: FlowSum[];
	sessions: number[];
	errors: string[];
	stats: ExporterStats;
}

test('a collector that resets again and again gets each record exactly once, as its kernel acknowledged it', async (t) => {
	const { kernel, exported, sessions, errors, stats } = await inNamespace<Report>('reset');
	t.is(kernel.length, 4_000);
	t.is(sessions.length, 4, 'three sessions were reset');
	t.true(
		sessions.every((records) => records > 0),
		String(sessions),
	);
	t.deepEqual(errors, [], 'every session is well-formed from its first octet');
	const sums = new Map(exported.map((sum) => [sum.key, sum]));
	t.is(sums.size, 4_000);
	t.deepEqual(
		kernel.filter(({ key }) => sums.get(key)?.records !== 1),
		[],
	);
	t.deepEqual(
		kernel.filter(
			(flow) =>
				sums.get(flow.key)?.octets !== flow.octets ||
				sums.get(flow.key)?.reverseOctets !== flow.reverseOctets,
		),
		[],
	);
	t.deepEqual(stats.losses, []);
	t.is(stats.exported.records, 4_000);
	t.is(stats.collectors[0]?.connections, 4);
	t.is(stats.batchesInFlight, 0);
});
