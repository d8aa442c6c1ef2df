/**
 * The names under which Antrea's own exporter tells the same, for dashboards that exist. Only in the antrea profile.
 */
import { Gauge, Histogram, type Registry } from 'prom-client';
import type { ExporterStats } from '../exporter/events.ts';

const PREFIX = 'antrea_agent_';

/** Gives the histogram of poll durations, in seconds. */
export function antreaMetrics(statsNow: () => ExporterStats, registry: Registry): Histogram {
	const registers = [registry];
	const values: Array<[name: string, help: string, value: (stats: ExporterStats) => number]> = [
		[
			'conntrack_total_connection_count',
			"Entries in the kernel's table.",
			({ table }) => table?.kernelEntries ?? 0,
		],
		[
			'conntrack_antrea_connection_count',
			"Connections of Antrea's zones in the table.",
			({ table }) => table?.connections ?? 0,
		],
		[
			'conntrack_max_connection_count',
			"Most entries that the kernel's table takes.",
			({ table }) => table?.kernelMax ?? 0,
		],
		['denied_connection_count', 'Denied connections in the table.', () => 0],
		[
			'flow_collector_reconnection_count',
			'Connections to collectors after the first.',
			({ collectors }) => collectors.reduce((sum, { connections }) => sum + Math.max(0, connections - 1), 0),
		],
	];
	for (const [name, help, value] of values) {
		new Gauge({
			name: PREFIX + name,
			help,
			registers,
			collect() {
				this.set(value(statsNow()));
			},
		});
	}
	return new Histogram({
		name: `${PREFIX}conntrack_poll_cycle_duration_seconds`,
		help: 'How long polls took.',
		buckets: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10],
		registers,
	});
}
