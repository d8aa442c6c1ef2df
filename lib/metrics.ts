/**
 * The metrics server: Prometheus text, liveness, readiness and a status page. Loaded only when it was asked for.
 * One registry per exporter; values are read from `stats()` when somebody asks.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ExporterStats } from './events.ts';
import type { FlowExporter } from './exporter.ts';
import { native } from './native.ts';
import { formatEndpoint } from './target.ts';

const PREFIX = 'conntrack_ipfix_';
const ALIVE_SLACK_MS = 60_000;
const POLL_BUCKETS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10];

export interface MetricsServer {
	/** `HOST:PORT` as bound. */
	readonly address: string;
	close(): Promise<void>;
}

/** Serves /metrics, /healthz, /readyz and /status. Rejects when the address cannot be bound. */
export async function serveMetrics(
	exporter: FlowExporter,
	{ host, port }: { host: string; port: number },
): Promise<MetricsServer> {
	const { registry, dispose } = registryOf(exporter);
	const startedAt = Date.now();
	const server = createServer((request, response) => {
		answer(request, response, exporter, registry, startedAt).catch(() => response.writeHead(500).end());
	});
	server.headersTimeout = 5_000;
	server.requestTimeout = 10_000;
	await new Promise<void>((resolve, reject) => {
		server.once('error', reject);
		server.listen({ host, port }, resolve);
	});
	// The exporter, not its metrics, decides how long the process lives.
	server.unref();
	const bound = server.address();
	return {
		address: formatEndpoint(host, typeof bound === 'object' && bound !== null ? bound.port : port),
		close: () =>
			new Promise<void>((resolve) => {
				dispose();
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

async function answer(
	request: IncomingMessage,
	response: ServerResponse,
	exporter: FlowExporter,
	registry: Registry,
	startedAt: number,
) {
	const path = (request.url ?? '/').split('?', 1)[0];
	if (request.method !== 'GET' && request.method !== 'HEAD') {
		response.writeHead(405, { allow: 'GET, HEAD' }).end();
	} else if (path === '/metrics') {
		const text = await registry.metrics();
		response.writeHead(200, { 'content-type': registry.contentType }).end(text);
	} else if (path === '/healthz') {
		const { lastPollAttempt, pollIntervalEffective } = exporter.stats();
		const quiet = Date.now() - (lastPollAttempt ?? startedAt);
		const alive = quiet <= 3 * pollIntervalEffective + ALIVE_SLACK_MS;
		plain(response, alive ? 200 : 503, alive ? 'ok' : `no poll ended for ${Math.round(quiet / 1000)} s`);
	} else if (path === '/readyz') {
		const ready = exporter.stats().lastSuccessfulPoll !== null;
		plain(response, ready ? 200 : 503, ready ? 'ok' : 'before the first complete poll');
	} else if (path === '/status') {
		const stats = exporter.stats();
		const collectors = Object.fromEntries(
			stats.collectors.map(({ name, ...collector }) => [name, collector]),
		);
		response
			.writeHead(200, { 'content-type': 'application/json' })
			.end(JSON.stringify({ ...stats, collectors }));
	} else {
		plain(response, 404, 'there are /metrics, /healthz, /readyz and /status');
	}
}

function plain(response: ServerResponse, status: number, text: string): void {
	response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}

/** `dispose` takes the listeners off the exporter. */
export function registryOf(exporter: FlowExporter): { registry: Registry; dispose(): void } {
	const registry = new Registry();
	collectDefaultMetrics({ register: registry });
	const registers = [registry];
	const gauge = (name: string, help: string, value: (stats: ExporterStats) => number | null | undefined) =>
		new Gauge({
			name: PREFIX + name,
			help,
			registers,
			collect() {
				this.reset();
				const now = value(exporter.stats());
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
				this.inc(value(exporter.stats()) ?? 0);
			},
		});
	type CollectorStats = ExporterStats['collectors'][number];
	const perCollector = (
		kind: typeof Gauge | typeof Counter,
		name: string,
		help: string,
		value: (stats: CollectorStats) => number,
	) =>
		new kind({
			name: PREFIX + name,
			help,
			labelNames: ['collector'],
			registers,
			collect() {
				this.reset();
				for (const collector of exporter.stats().collectors)
					this.inc({ collector: collector.name }, value(collector));
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
	gauge(
		'refused_connections',
		'Connections that the last poll left out because the table was full.',
		({ table }) => table?.refusedConnections,
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
		'Messages of the kernel that could not be read.',
		({ table }) => table?.malformedMessages,
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
		'Records sent again that may have arrived before.',
		(collector) => collector.duplicateRecords,
	);
	perCollector(Gauge, 'collector_connected', 'Whether a session is open.', ({ state }) =>
		state === 'open' || state === 'stalled' || state === 'draining' ? 1 : 0,
	);
	perCollector(Counter, 'collector_reconnections_total', 'Connections after the first.', ({ connections }) =>
		Math.max(0, connections - 1),
	);
	for (const [name, unit] of [
		['lost_records_total', 'records'],
		['lost_packets_total', 'packets'],
		['lost_bytes_total', 'octets'],
	] as const) {
		new Counter({
			name: PREFIX + name,
			help: `Lost ${unit}, by reason; with a collector where it alone missed them.`,
			labelNames: ['reason', 'collector'],
			registers,
			collect() {
				this.reset();
				for (const { reason, collector, [unit]: amount } of exporter.stats().losses) {
					this.inc(collector === null ? { reason } : { reason, collector }, amount);
				}
			},
		});
	}
	const durations = new Histogram({
		name: `${PREFIX}poll_duration_seconds`,
		help: 'How long polls took.',
		buckets: POLL_BUCKETS,
		registers,
	});
	const onPoll = ({ durationMs }: { durationMs: number }) => durations.observe(durationMs / 1000);
	exporter.on('poll', onPoll);
	return {
		registry,
		dispose: () => {
			exporter.off('poll', onPoll);
			registry.clear();
		},
	};
}
