/**
 * Sessions that acknowledge nothing, all at once: UDP that is away, comes, goes and comes back; UDP that writes down
 * when templates come; a file; a file that is rotated.
 */
import { createSocket, Socket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Collector, FlowExporter, type FlowRecord } from '../../lib/index.ts';
import { account } from '../support/account.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
	COLLECTOR_PORT,
	flushKernel,
	kernelFlows,
	sleep,
	track,
	unansweredFlows,
	until,
} from '../support/kernel.ts';
import { sumByFlow } from '../support/records.ts';
import { report } from '../support/report.ts';

const QUIET_MS = 700;

track();
const folder = temporaryFolder('file');
const file = join(folder, 'flows.ipfix');

/** Every seventh datagram of the exporter meets a full send buffer first: it is not sent, and the error is told. */
let full = 0;
let sends = 0;
const send = Socket.prototype.send as (...args: unknown[]) => void;
Socket.prototype.send = function (this: Socket, ...args: unknown[]) {
	const [parts, callback] = args;
	sends += Array.isArray(parts) ? 1 : 0;
	if (!Array.isArray(parts) || typeof callback !== 'function' || sends % 7 !== 0) {
		send.apply(this, args);
		return;
	}
	full += 1;
	const code = full % 2 === 0 ? 'ENOBUFS' : 'EAGAIN';
	process.nextTick(callback, Object.assign(new Error(code), { code }), 0);
} as typeof Socket.prototype.send;

const udp = `udp://127.0.0.1:${COLLECTOR_PORT}`;
const rotated = join(folder, 'rotated.ipfix');
const reasons: string[] = [];
/** Of each datagram whether it has templates, data, or options only. */
const datagrams: Array<'templates' | 'data' | 'options'> = [];
let afterQuiet: string | undefined;
let lastAt = 0;
const observer = createSocket('udp4').bind(0, '127.0.0.1');
observer.on('message', (datagram) => {
	const set = datagram.readUInt16BE(16);
	const kind = set === 2 ? 'templates' : set === 3 || datagram.readUInt32BE(12) === 0 ? 'options' : 'data';
	if (datagrams.length > 0 && performance.now() - lastAt > QUIET_MS) afterQuiet ??= kind;
	lastAt = performance.now();
	datagrams.push(kind);
});
await once(observer, 'listening');
const observed = observer.address().port;
const exporter = new FlowExporter({
	collectors: [
		{ url: udp, reconnect: { initial: 50, max: 100 } },
		{ url: `file:${file}`, flushInterval: 200 },
		{
			url: `udp://127.0.0.1:${observed}`,
			templateRefresh: QUIET_MS,
			templateRefreshPackets: 3,
		},
		{ url: `file:${rotated}`, rotate: { size: 65_536 }, flushInterval: 200, maxMessageSize: 8_192 },
	],
	delivery: 'all',
	pollInterval: 100,
	activeTimeout: '1m',
	idleTimeout: '1m',
});
exporter.on('disconnect', ({ reason }) => reasons.push(reason));
await exporter.start();
await until('the datagrams are refused', () => reasons.some((reason) => reason.includes('refused')));

await unansweredFlows('127.0.0.1', 200, 10);
await until('they are in the table', () => exporter.stats().table?.connections === 200);
const first = kernelFlows(COLLECTOR_PORT, observed);
flushKernel();
await until('the file has them', () => exporter.stats().exported.records === 200);

const records: FlowRecord[] = [];
let malformed = 0;
/** Starts the UDP collector and waits until records go there; gives what stops it. */
async function come(): Promise<() => Promise<void>> {
	const collector = new Collector({ listen: [udp] });
	await collector.start();
	const reading = (async () => {
		for await (const batch of collector) records.push(...batch);
	})();
	await until('UDP is open', () => exporter.stats().collectors[0]?.state === 'open');
	await sleep(100);
	return async () => {
		await sleep(100);
		await collector.stop();
		await reading;
		malformed += collector.stats().malformed;
	};
}
const go = await come();
await sleep(QUIET_MS + 100);
await unansweredFlows('127.0.0.1', 1_000, 20);
await until('they are in the table', () => (exporter.stats().table?.connections ?? 0) >= 1_000);
const second = kernelFlows(COLLECTOR_PORT, observed);
flushKernel();
await until('both have them', () => exporter.stats().exported.records === 1_200);
const during = readdirSync(folder).filter((name) => name.startsWith('flows'));
const beforeGoing = exporter.stats().collectors[0];
await go();
await unansweredFlows('127.0.0.1', 300, 30);
await until('they are in the table', () => (exporter.stats().table?.connections ?? 0) >= 300);
const third = kernelFlows(COLLECTOR_PORT, observed);
flushKernel();
await until('those who are there have them', () => exporter.stats().exported.records === 1_500);
const afterGoing = exporter.stats().collectors[0];
const goAgain = await come();
await unansweredFlows('127.0.0.1', 100, 40);
await until('they are in the table', () => (exporter.stats().table?.connections ?? 0) >= 100);
const fourth = kernelFlows(COLLECTOR_PORT, observed);
flushKernel();
await until('all have them', () => exporter.stats().exported.records === 1_600);
await exporter.stop();
await goAgain();
observer.close();
async function read(path: string): Promise<FlowRecord[]> {
	const filed: FlowRecord[] = [];
	for await (const batch of new Collector({ files: [path] })) filed.push(...batch);
	return filed;
}
const names = readdirSync(folder).sort();
const rotation = await Promise.all(
	names
		.filter((name) => name.startsWith('rotated'))
		.map(async (name) => ({
			name,
			octets: statSync(join(folder, name)).size,
			flows: sumByFlow(await read(join(folder, name))),
		})),
);
const everything = [first, second, third, fourth].flat();
const { collectors, losses } = exporter.stats();
report({
	first,
	second,
	during,
	after: names.filter((name) => name.startsWith('flows')),
	collectors,
	losses,
	malformed,
	full,
	beforeGoing,
	afterGoing,
	total: account(everything, records),
	overUdp: [...sumByFlow(records).values()],
	inFile: account(everything, await read(file)),
	datagrams,
	afterQuiet,
	rotation: rotation.map(({ name, octets, flows }) => ({ name, octets, flows: flows.size })),
	rotatedFlows: new Set(rotation.flatMap(({ flows }) => [...flows.keys()])).size,
});
