import test from 'ava';
import type { ExporterStats, LossSummary } from '../lib/index.ts';
import type { KernelFlow } from './support/kernel.ts';
import { inNamespace } from './support/namespace.ts';

interface Report {
	kernel: KernelFlow[];
	table: ExporterStats['table'];
	losses: LossSummary[];
	told: LossSummary[];
}

test('connections unexported for the stale timeout after their end leave with no collector, and each is counted lost', async (t) => {
	const { kernel, table, losses, told } = await inNamespace<Report>('stale');
	t.is(kernel.length, 60);
	t.like(table, { connections: 0, queued: 0, ended: 0, inFlight: 0 });
	const sum = (name: 'packets' | 'octets' | 'reversePackets' | 'reverseOctets') =>
		kernel.reduce((total, flow) => total + flow[name], 0);
	const expected = {
		reason: 'stale',
		collector: null,
		records: 60,
		packets: sum('packets') + sum('reversePackets'),
		octets: sum('octets') + sum('reverseOctets'),
	};
	t.deepEqual(losses, [expected]);
	t.is(
		told.reduce((total, { records }) => total + records, 0),
		60,
		'the events tell the same',
	);
});
