/**
 * The metrics server: Prometheus text, liveness, readiness and a status page. Loaded only when it was asked for.
 * One registry per exporter; values are read from `stats()` when somebody asks.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { FlowExporter } from '../exporter/exporter.ts';
import { formatEndpoint } from '../options/target.ts';
import { addressToBind, cannotListen } from '../transport/listen.ts';
import { limitConnections } from './connections.ts';
import { isAllowedHost } from './host.ts';
import { type Metrics, metricsOf } from './metrics.ts';

const ALIVE_SLACK_MS = 60_000;
const CONNECTIONS = 64;
/** How often Node looks for who takes longer than `headersTimeout` and `requestTimeout`. */
const CHECK_MS = 1_000;
const HEADERS_MS = 5_000;
const REQUEST_MS = 10_000;
const HEADERS_OCTETS = 8_192;

export interface MetricsServer {
	/** `HOST:PORT` as bound. */
	readonly address: string;
	close(): Promise<void>;
}

/**
 * Serves /metrics, /healthz, /readyz and /status to whoever asks for an address, `localhost`, the bound host, or one of `names`.
 * Rejects with the system's code when the address cannot be bound.
 */
export async function serveMetrics(
	exporter: FlowExporter,
	{ host, port }: { host: string; port: number },
	names: readonly string[] = [],
): Promise<MetricsServer> {
	const where = `--metrics ${formatEndpoint(host, port)}`;
	const address = await addressToBind(host, where);
	const metrics = metricsOf(exporter);
	const startedAt = Date.now();
	const limits = {
		connectionsCheckingInterval: CHECK_MS,
		headersTimeout: HEADERS_MS,
		requestTimeout: REQUEST_MS,
		maxHeaderSize: HEADERS_OCTETS,
	};
	const server = createServer(limits, (request, response) => {
		if (request.socket.destroyed) return;
		if (!isAllowedHost(request.headers.host, [host, ...names])) {
			const expected =
				'asked for by a name that is not ours: use the address, or add the name to metricsHosts';
			plain(response, 421, expected);
			return;
		}
		answer(request, response, exporter, metrics, startedAt).catch(() => response.writeHead(500).end());
	});
	// Who does not read the answer.
	server.timeout = REQUEST_MS;
	limitConnections(server, CONNECTIONS);
	await new Promise<void>((resolve, reject) => {
		const fail = (cause: Error) => {
			metrics.dispose();
			reject(cannotListen(cause, where));
		};
		server.once('error', fail);
		server.listen({ host: address, port }, () => {
			// A connection that cannot be accepted is no reason to end.
			server.off('error', fail).on('error', () => undefined);
			resolve();
		});
	});
	// The exporter, not its metrics, decides how long the process lives.
	server.unref();
	const bound = server.address();
	return {
		address: formatEndpoint(host, typeof bound === 'object' && bound !== null ? bound.port : port),
		close: () =>
			new Promise<void>((resolve) => {
				metrics.dispose();
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

async function answer(
	request: IncomingMessage,
	response: ServerResponse,
	exporter: FlowExporter,
	metrics: Metrics,
	startedAt: number,
) {
	const path = (request.url ?? '/').split('?', 1)[0];
	if (request.method !== 'GET' && request.method !== 'HEAD') {
		response.writeHead(405, { allow: 'GET, HEAD' }).end();
	} else if (path === '/metrics') {
		const text = await metrics.text();
		response.writeHead(200, { 'content-type': metrics.contentType }).end(text);
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
