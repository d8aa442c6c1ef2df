/**
 * The registry of one exporter's metrics: values are read from `stats()` when somebody asks, and only poll durations are
 * collected as they come.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { native } from '../core/native.ts';
import type { ExporterStats } from '../exporter/events.ts';
import { type FlowExporter, settingsOf } from '../exporter/exporter.ts';
import type { Settings } from '../options/options.ts';
import { antreaMetrics } from './metrics_antrea.ts';

const PREFIX = 'conntrack_ipfix_';
const POLL_BUCKETS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10];

/** Each loss that can occur begins at 0, because a rate misses the step of a series that begins later. */
function possibleLosses({ whenFull, collectors, delivery }: Settings): Array<{ reason: string }> {
	const reasons = [
		'stale',
		'refused',
		'too_large',
		'left_at_stop',
		...(whenFull === 'evict-idle' ? ['evicted'] : []),
	];
	const udp = isSole(collectors, delivery) && collectors.some(({ target }) => target.kind === 'udp');
	return [...reasons, ...(udp ? ['udp_refused'] : [])].map((reason) => ({ reason }));
}

function possibleMisses({ collectors, delivery }: Settings): Array<{ reason: string; collector: string }> {
	return collectors.flatMap(({ name, target }) =>
		[
			'left_at_stop',
			'too_large',
			...(target.kind === 'udp' ? ['udp_refused'] : []),
			// Only who has others beside it is passed over.
			...(isSole(collectors, delivery) ? [] : ['away', 'stalled']),
		].map((reason) => ({ reason, collector: name })),
	);
}

/** Whether nobody else has what one collector misses. */
function isSole(collectors: Settings['collectors'], delivery: Settings['delivery']): boolean {
	return delivery === 'failover' || collectors.length === 1;
}

export interface Metrics {
	readonly contentType: string;
	/** All of them as Prometheus' text, of one snapshot. */
	text(): Promise<string>;
	/** Takes the listeners off the exporter. */
	dispose(): void;
}

export function metricsOf(exporter: FlowExporter): Metrics {
	const registry = new Registry();
	let snapshot: ExporterStats | undefined;
	/** That of the scrape under way: values of one moment, for the cost of one. */
	const statsNow = () => {
		snapshot ??= exporter.stats();
		return snapshot;
	};
	collectDefaultMetrics({ register: registry });
	const registers = [registry];
	const gauge = (name: string, help: string, value: (stats: ExporterStats) => number | null | undefined) =>
		new Gauge({
			name: PREFIX + name,
			help,
			registers,
			collect() {
				this.reset();
				const now = value(statsNow());
				if (now == null) this.remove();
				else this.set(now);
			},
		});
	const counter = (name: string, help: string, value: (stats: ExporterStats) => number | undefined) =>
		new Counter({
			name: PREFIX + name,
			help,
			registers,
			collect() {
				this.reset();
				this.inc(value(statsNow()) ?? 0);
			},
		});
	type CollectorStats = ExporterStats['collectors'][number];
	const perCollector = (
		kind: typeof Gauge | typeof Counter,
		name: string,
		help: string,
		value: (stats: CollectorStats) => number | null,
	) =>
		new kind({
			name: PREFIX + name,
			help,
			labelNames: ['collector'],
			registers,
			collect() {
				this.reset();
				for (const collector of statsNow().collectors) {
					const now = value(collector);
					if (now !== null) this.inc({ collector: collector.name }, now);
				}
			},
		});

	new Gauge({
		name: `${PREFIX}build_info`,
		help: 'Always 1; the version is in its label.',
		labelNames: ['version'],
		registers,
	}).set({ version: native().version() }, 1);
	gauge('connections', 'Connections in the table.', ({ table }) => table?.connections);
	gauge('table_bytes', 'Octets of memory that the table takes.', ({ table }) => table?.tableBytes);
	gauge('kernel_entries', "Entries in the kernel's table.", ({ table }) => table?.kernelEntries);
	gauge('kernel_entries_max', "Most entries that the kernel's table takes.", ({ table }) => table?.kernelMax);
	gauge('denied_connections', 'Denied connections in the table.', () => 0);
	gauge('config_last_reload_successful', 'Whether the last change of certificates could be used.', (stats) =>
		stats.lastReloadSuccessful ? 1 : 0,
	);
	gauge(
		'refused_connections',
		'Connections that the last poll left out because the table was full.',
		({ table }) => table?.refusedConnections,
	);
	gauge(
		'unremembered_connections',
		'Of these, those that are too many to be remembered: what they move is in no other figure.',
		({ table }) => table?.unrememberedConnections,
	);
	counter(
		'evicted_connections_total',
		'Idle connections that made room for others.',
		({ table }) => table?.evictedTotal,
	);
	counter(
		'forgotten_connections_total',
		'Connections that were forgotten although the kernel may hold them.',
		({ table }) => table?.forgottenTotal,
	);
	gauge(
		'poll_interval_effective_seconds',
		'Time from one poll to the next, as planned.',
		(stats) => stats.pollIntervalEffective / 1000,
	);
	gauge('last_successful_poll_timestamp_seconds', 'When the last poll was complete.', (stats) =>
		stats.lastSuccessfulPoll === null ? null : stats.lastSuccessfulPoll / 1000,
	);
	gauge(
		'export_lag_seconds',
		'How long the records that are due have waited.',
		(stats) => stats.exportLag / 1000,
	);
	counter('poll_failures_total', 'Polls that failed.', ({ table }) => table?.pollFailures);
	counter(
		'incomplete_dumps_total',
		'Dumps that were cut short, and ended no connection.',
		({ table }) => table?.incompleteDumps,
	);
	counter(
		'malformed_messages_total',
		'Messages of the kernel that could not be read, and lookups of a connection that it refused.',
		({ table }) => table?.malformedMessages,
	);
	gauge('names', "Distinct combinations of connections' names that are held.", ({ table }) => table?.names);
	counter(
		'unnamed_connections_total',
		'Connections that are exported without names because there was no room for theirs.',
		({ table }) => table?.unnamedTotal,
	);
	counter(
		'unknown_policy_rules_total',
		"Numbers in connections' labels that no policy rule had when the connection was first seen.",
		({ table }) => table?.unknownRulesTotal,
	);
	counter(
		'event_overruns_total',
		'Times that the event socket lost events.',
		({ table }) => table?.eventOverruns,
	);
	perCollector(
		Counter,
		'records_exported_total',
		'Flow records settled.',
		(collector) => collector.exportedRecords,
	);
	perCollector(
		Counter,
		'sent_bytes_total',
		'Octets of IPFIX handed to the kernel.',
		(collector) => collector.sentBytes,
	);
	perCollector(
		Gauge,
		'unsettled_bytes',
		'Octets that are queued or not acknowledged.',
		(collector) => collector.unsettledBytes,
	);
	perCollector(
		Counter,
		'duplicate_records_total',
		'Records sent again that may have arrived before: sent, and not acknowledged at a break.',
		(collector) => collector.duplicateRecords,
	);
	perCollector(Gauge, 'collector_connected', 'Whether a session is open.', ({ state }) =>
		state === 'open' || state === 'stalled' || state === 'draining' ? 1 : 0,
	);
	new Gauge({
		name: `${PREFIX}collector_state`,
		help: 'Always 1; the state of the session is in its label.',
		labelNames: ['collector', 'state'],
		registers,
		collect() {
			this.reset();
			for (const { name, state } of statsNow().collectors) this.set({ collector: name, state }, 1);
		},
	});
	perCollector(Counter, 'collector_reconnections_total', 'Connections after the first.', ({ connections }) =>
		Math.max(0, connections - 1),
	);
	perCollector(
		Gauge,
		'tls_certificate_expiry_timestamp_seconds',
		"When the agent's own certificate for this collector ends.",
		({ certificateExpiry }) => (certificateExpiry === null ? null : certificateExpiry / 1000),
	);
	const settings = settingsOf(exporter);
	const { collectors, delivery } = settings;
	for (const [name, unit] of [
		['records_total', 'records'],
		['packets_total', 'packets'],
		['bytes_total', 'octets'],
	] as const) {
		new Counter({
			name: `${PREFIX}lost_${name}`,
			help: `Lost ${unit}, by reason: no collector has them. The sum over all reasons is all that is lost.`,
			labelNames: ['reason'],
			registers,
			collect() {
				this.reset();
				for (const labels of possibleLosses(settings)) this.inc(labels, 0);
				for (const { reason, collector, [unit]: amount } of statsNow().losses)
					if (collector === null || isSole(collectors, delivery)) this.inc({ reason }, amount);
			},
		});
		new Counter({
			name: `${PREFIX}missed_${name}`,
			help: `Of each collector, the ${unit} that it was to be sent and does not have, by reason; others may have them.`,
			labelNames: ['reason', 'collector'],
			registers,
			collect() {
				this.reset();
				for (const labels of possibleMisses(settings)) this.inc(labels, 0);
				for (const { reason, collector, [unit]: amount } of statsNow().losses)
					if (collector !== null) this.inc({ reason, collector }, amount);
			},
		});
	}
	const durations = new Histogram({
		name: `${PREFIX}poll_duration_seconds`,
		help: 'How long polls took.',
		buckets: POLL_BUCKETS,
		registers,
	});
	const antrea = settings.profile === 'antrea' ? antreaMetrics(statsNow, registry) : undefined;
	const onPoll = ({ durationMs }: { durationMs: number }) => {
		durations.observe(durationMs / 1000);
		antrea?.observe(durationMs / 1000);
	};
	exporter.on('poll', onPoll);
	return {
		contentType: registry.contentType,
		text: () => {
			snapshot = undefined;
			return registry.metrics();
		},
		dispose: () => {
			exporter.off('poll', onPoll);
			registry.clear();
		},
	};
}
