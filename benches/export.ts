/**
 * From a table of 100,000 flows that are due at once into a TCP sink in another process. Runs inside a namespace of its
 * own, pinned to one core (benches/main.ts); the sink, and where asked for a busy loop, have the other.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { flushKernel, sleep, track, until } from '../__test__/support/kernel.ts';
import { FlowExporter, type PodInput } from '../lib/index.ts';
import type { FlowSocket } from './flows.ts';

/** Less the few that a socket would send to itself. */
const FLOWS = 100_000;
const NEARLY = FLOWS - 10;
const PER_SOCKET = 50_000;
/** With names, the flows of a socket are those of one pair of Pods. */
const PAIRS = 100;
const ROUNDS = 3;

export interface Round {
	/** From the end of the poll that made them due to the last octet at the sink. */
	seconds: number;
	/** Processor time of the exporter, all its threads. */
	cpuSeconds: number;
	firstRecordMs: number;
	/** Of the event loop while records were exported. */
	delayP99Ms: number;
	delayMaxMs: number;
}

export interface Outcome {
	profile: string;
	loaded: boolean;
	flows: number;
	/** Pods that name both ends of every flow; 0: no names. */
	pods: number;
	octets: number;
	rounds: Round[];
	peakRssMiB: number;
}

const profile: 'standard' | 'antrea' = process.argv[2] === 'antrea' ? 'antrea' : 'standard';
const loaded = process.argv[3] === 'loaded';

function onOtherCore(script: string): ChildProcess {
	const file = fileURLToPath(new URL(script, import.meta.url));
	return fork(file, {
		execPath: 'chrt',
		// Not with the exporter's priority.
		execArgv: ['--other', '0', 'taskset', '-c', '1', process.execPath, '--import=tsx'],
		stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
	});
}

/** Pods as a Deployment on a node makes them. */
function pod(app: string, namespace: string, number: number, address: string): PodInput {
	const hash = ((number + 1) * 0x9e37_79b1) >>> 0;
	const name = `${app}-${hash.toString(16).padStart(8, '0')}-${hash.toString(36).slice(-5).padStart(5, 'x')}`;
	return { name, namespace, node: `worker-${number % 10}.cluster.example`, addresses: [address] };
}

/** Which sockets make a round's flows: without names two on loopback, with names one for each pair of Pods. */
const named = profile === 'antrea';
const count = named ? PAIRS : FLOWS / PER_SOCKET;
const sockets: FlowSocket[] = Array.from({ length: count }, (_, pair) => ({
	...(named ? { from: `127.1.0.${pair}`, to: `127.2.0.${pair}` } : { to: '127.0.0.1' }),
	flows: FLOWS / count,
}));
const pods = sockets.flatMap(({ from, to }, pair) =>
	from === undefined
		? []
		: [pod('checkout-web', 'shop', pair, from), pod('inventory-api', 'stock', pair, to)],
);

track();
const sink = onOtherCore('sink.ts');
const [{ port }] = (await once(sink, 'message')) as [{ port: number }];
const maker = onOtherCore('flows.ts');
const load = loaded ? onOtherCore('load.ts') : undefined;
const exporter = new FlowExporter({
	collectors: [`tcp://127.0.0.1:${port}`],
	profile,
	zones: [0],
	protocols: ['udp'],
	pollInterval: 2_000,
	activeTimeout: '10m',
	idleTimeout: '10m',
	// A poll of the full table takes more than its share, and that is not what is measured here.
	maxPollShare: 1,
	...(named && { pods }),
});
await exporter.start();
const rounds: Round[] = [];
let octets = 0;
for (let round = 0; round < ROUNDS; round += 1) {
	maker.send(sockets);
	await once(maker, 'message');
	await until('all are in the table', () => (exporter.stats().table?.connections ?? 0) >= NEARLY);
	await sleep(1_000);
	const { connections: flows = 0, names = 0 } = exporter.stats().table ?? {};
	if (names !== pods.length / 2) throw new Error(`${names} combinations of names, not ${pods.length / 2}`);
	const exported = exporter.stats().exported.records;
	sink.send('reset');
	await once(sink, 'message');
	const histogram = monitorEventLoopDelay({ resolution: 1 });
	let due = 0n;
	let cpu = process.cpuUsage();
	const onPoll = ({ ended }: { ended: number }) => {
		if (ended < flows) return;
		due = process.hrtime.bigint();
		cpu = process.cpuUsage();
		histogram.enable();
	};
	exporter.on('poll', onPoll);
	// Right after a poll: the next one finds all of them gone.
	await once(exporter, 'poll');
	flushKernel();
	await until('all is settled', () => exporter.stats().exported.records === exported + flows);
	const { user, system } = process.cpuUsage(cpu);
	histogram.disable();
	exporter.off('poll', onPoll);
	sink.send('told');
	const [seen] = (await once(sink, 'message')) as [{ octets: number; first: string; last: string }];
	octets = seen.octets;
	rounds.push({
		seconds: Number(BigInt(seen.last) - due) / 1e9,
		cpuSeconds: (user + system) / 1e6,
		firstRecordMs: Number(BigInt(seen.first) - due) / 1e6,
		delayP99Ms: histogram.percentile(99) / 1e6,
		delayMaxMs: histogram.max / 1e6,
	});
	await sleep(200);
}
await exporter.stop();
load?.disconnect();
maker.disconnect();
sink.disconnect();
const outcome: Outcome = {
	profile,
	loaded,
	flows: FLOWS,
	pods: pods.length,
	octets,
	rounds,
	peakRssMiB: process.resourceUsage().maxRSS / 1024,
};
process.stdout.write(`${JSON.stringify(outcome)}\n`, () => process.exit(0));
