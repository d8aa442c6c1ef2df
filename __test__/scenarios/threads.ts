/** Exporters beside each other, in this thread and in two workers; and what is dropped without a stop. */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { nativeConfig } from '../../lib/core/config.ts';
import { native } from '../../lib/core/native.ts';
import { settingsOf } from '../../lib/exporter/exporter.ts';
import { FlowExporter } from '../../lib/index.ts';
import { collectGarbage } from '../support/garbage.ts';
import { run, sleep, track, unansweredFlows, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

const FLOWS = 40_000;
const options = { pollInterval: 100, activeTimeout: 100, idleTimeout: 100 };

if (isMainThread) await main();
else await inWorker(workerData as { port: number; way: string });

/** Exports to the collector, or only polls, until it is stopped, terminated or ends by itself. */
async function inWorker({ port, way }: { port: number; way: string }): Promise<void> {
	const exporter = new FlowExporter({
		...options,
		protocols: ['udp'],
		initialDelta: 'total',
		collectors: [`tcp://127.0.0.1:${port}`],
	});
	exporter.on('poll', () => parentPort?.postMessage('polled'));
	const started = exporter.start();
	started.catch(() => undefined);
	parentPort?.postMessage('starting');
	if (way === 'exports') {
		await started;
		await until('all is exported', () => exporter.stats().exported.records >= FLOWS);
		parentPort?.postMessage('exported');
		await exporter.stop();
		parentPort?.close();
	}
}

/** Threads of the core in this process. */
function kernelThreads(): number {
	return readdirSync('/proc/self/task').filter((id) => {
		try {
			return readFileSync(`/proc/self/task/${id}/comm`, 'utf8').startsWith('conntrack');
		} catch {
			return false;
		}
	}).length;
}

async function main(): Promise<void> {
	track();
	await unansweredFlows('127.0.0.1', FLOWS, 1);
	const octets = new Map<Socket, number>();
	const server = createServer((socket) => {
		octets.set(socket, 0);
		socket.on('error', () => undefined);
		socket.on('data', (chunk) => octets.set(socket, (octets.get(socket) ?? 0) + chunk.length));
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const bound = server.address();
	const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
	const file = import.meta.url;
	// Node's flag --import=tsx does not reach the module loader of a worker.
	const boot = `import(${JSON.stringify(import.meta.resolve('tsx/esm/api'))}).then(({ register }) => {
		register();
		return import(${JSON.stringify(file)});
	})`;
	const worker = (way: string) => new Worker(boot, { eval: true, execArgv: [], workerData: { port, way } });

	// Here and in two workers at once.
	const said: string[][] = [[], []];
	const workers = said.map((list) => worker('exports').on('message', (text: string) => list.push(text)));
	const here = new FlowExporter({
		...options,
		protocols: ['udp'],
		initialDelta: 'total',
		collectors: [`tcp://127.0.0.1:${port}`],
	});
	await here.start();
	await until('all is exported here', () => here.stats().exported.records >= FLOWS);
	await here.stop();
	const codes = await Promise.all(workers.map((one) => once(one, 'exit').then(([code]) => code as number)));
	const atOnce = {
		exported: said.map((list) => list.includes('exported')),
		codes,
		sessions: octets.size,
		octets: [...octets.values()].every((count) => count > FLOWS * 110),
	};

	// A worker that is terminated while its poll is under way.
	const doomed = worker('polls');
	const heard: string[] = [];
	doomed.on('message', (text: string) => heard.push(text));
	await until('it polls', () => heard.includes('starting'));
	const terminated = { code: await doomed.terminate(), polled: heard.includes('polled') };

	// Four in one process.
	const four = Array.from(
		{ length: 4 },
		() => new FlowExporter({ ...options, collectors: [`tcp://127.0.0.1:${port}`] }),
	);
	await Promise.all(four.map((one) => one.start()));
	await until('all four are connected', () =>
		four.every((one) => one.stats().collectors[0]?.state === 'open'),
	);
	await Promise.all(four.map((one) => one.stop()));

	// Dropped without a stop: the core's object while its thread polls, and exporters that were stopped or never began.
	await collectGarbage();
	const threadsBefore = kernelThreads();
	const collected = new Set<string>();
	const registry = new FinalizationRegistry<string>((name) => collected.add(name));
	(() => {
		const core = new (native().NativeExporter)(nativeConfig(settingsOf(here)), [], () => undefined);
		core.poll();
		registry.register(core, 'core');
		registry.register(new FlowExporter(options), 'never started');
	})();
	await (async () => {
		const stopped = new FlowExporter({ ...options, collectors: [`tcp://127.0.0.1:${port}`] });
		await stopped.start();
		await stopped.stop();
		registry.register(stopped, 'stopped');
	})();
	for (let round = 0; round < 50 && collected.size < 3; round += 1) await collectGarbage();
	await sleep(20);
	report({
		entries: Number(run('conntrack', '-C')),
		atOnce,
		terminated,
		collected: [...collected].sort(),
		threadsLeft: kernelThreads() - threadsBefore,
	});
}
