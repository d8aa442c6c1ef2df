/**
 * The metrics server: Prometheus text, liveness, readiness and a status page. Loaded only when it was asked for.
 * One registry per exporter; values are read from `stats()` when somebody asks.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { AgentError, codeOf } from '../errors.ts';
import type { FlowExporter } from '../exporter/exporter.ts';
import { formatEndpoint } from '../options/target.ts';
import { registryOf } from './metrics.ts';

const ALIVE_SLACK_MS = 60_000;

export interface MetricsServer {
	/** `HOST:PORT` as bound. */
	readonly address: string;
	close(): Promise<void>;
}

/** Serves /metrics, /healthz, /readyz and /status. Rejects with the system's code when the address cannot be bound. */
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
		server.once('error', (cause) => reject(cannotListen(cause, formatEndpoint(host, port))));
		server.listen({ host, port }, resolve);
	}).catch((error: unknown) => {
		dispose();
		throw error;
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

function cannotListen(cause: Error, address: string): AgentError {
	const code = codeOf(cause) ?? 'ERR_METRICS';
	const reasons: Record<string, string> = {
		EADDRINUSE: 'the address is in use',
		EADDRNOTAVAIL: 'this machine has no such address',
		EACCES: 'no permission for this port',
		ENOTFOUND: 'the name is not known',
	};
	return new AgentError(code, `--metrics ${address}: cannot listen: ${reasons[code] ?? cause.message}`, {
		cause,
	});
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
