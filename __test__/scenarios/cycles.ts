/** A collector that resets every connection, two hundred times; then names with several addresses, and one that moves. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { FlowExporter } from '../../lib/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { collectGarbage } from '../support/garbage.ts';
import { run, sleep, track, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

const CYCLES = 200;
track();

/**
 * Descriptors, timers and sockets of this process, and listeners on what all sessions share. Timers come and go with each
 * poll: the most of a number of looks counts.
 */
async function inventory(exporter: FlowExporter) {
	await collectGarbage();
	const resources: Record<string, number> = {};
	for (let look = 0; look < 20; look += 1) {
		const now: Record<string, number> = {};
		for (const kind of process.getActiveResourcesInfo()) now[kind] = (now[kind] ?? 0) + 1;
		for (const [kind, count] of Object.entries(now)) resources[kind] = Math.max(resources[kind] ?? 0, count);
		await sleep(25);
	}
	return {
		descriptors: readdirSync('/proc/self/fd').length,
		resources,
		listeners: process
			.eventNames()
			.map((name) => [String(name), process.listenerCount(name)])
			.sort(),
		exporter: exporter.eventNames().length,
	};
}

const warnings: string[] = [];
process.on('warning', ({ name }) => warnings.push(name));
let cycles = 0;
let good = true;
const open = new Set<Socket>();
const server = createServer((socket) => {
	open.add(socket);
	socket.once('close', () => open.delete(socket));
	socket.on('error', () => undefined);
	socket.resume();
	if (good) return;
	cycles += 1;
	socket.resetAndDestroy();
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const exporter = new FlowExporter({
	collectors: [{ url: `tcp://127.0.0.1:${portOf(server)}`, reconnect: { initial: 1, max: 2 } }],
	pollInterval: 100,
	activeTimeout: 100,
	idleTimeout: 100,
});
/** The same moment of a session's life each time: open, nothing on its way, no poll just now. */
async function settle() {
	good = true;
	await until('it is open', () => exporter.stats().collectors[0]?.state === 'open');
	await sleep(300);
}
await exporter.start();
await settle();
await inventory(exporter);
const keepAlive = run('ss', '-Htno', 'dport', '=', `:${portOf(server)}`).trim();
const before = await inventory(exporter);
good = false;
for (const socket of open) socket.resetAndDestroy();
await until('it was reset so many times', () => cycles >= CYCLES);
await settle();
const after = await inventory(exporter);
await exporter.stop();
server.close();

// A name of several addresses: the one that answers is found, whichever family it has.
const families: string[] = [];
for (const address of ['127.0.0.1', '::1']) {
	const only = createServer((socket) => socket.resume()).listen(0, address);
	await once(only, 'listening');
	hosts(['127.0.0.1', '::1'], 'two.example');
	const two = new FlowExporter({ collectors: [`tcp://two.example:${portOf(only)}`] });
	await two.start();
	await until(`${address} is found`, () => two.stats().collectors[0]?.state === 'open');
	families.push(address);
	await two.stop();
	only.close();
}

// The same over UDP, where only refusals tell.
const heard: Array<4 | 6> = [];
for (const [address, family] of [
	['127.0.0.1', 4],
	['::1', 6],
] as const) {
	const only = createSocket(family === 4 ? 'udp4' : 'udp6').bind(0, address);
	await once(only, 'listening');
	hosts(['127.0.0.1', '::1'], 'two.example');
	const two = new FlowExporter({
		collectors: [{ url: `udp://two.example:${only.address().port}`, reconnect: { initial: 50, max: 100 } }],
	});
	const arrived = once(only, 'message');
	await two.start();
	await arrived;
	heard.push(family);
	await two.stop();
	only.close();
}

// A name that moves between two attempts.
const target = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
await once(target, 'listening');
hosts(['127.0.0.9'], 'moved.example');
const moving = new FlowExporter({
	collectors: [{ url: `tcp://moved.example:${portOf(target)}`, reconnect: { initial: 50, max: 100 } }],
});
const attempts: string[] = [];
moving.on('disconnect', ({ reason }) => attempts.push(reason));
await moving.start();
await until('the first address refuses', () => attempts.length > 0);
hosts(['127.0.0.1'], 'moved.example');
await until('it has followed the name', () => moving.stats().collectors[0]?.state === 'open');
await moving.stop();
target.close();

// Nobody listens, and the only port that a socket can get is the one that it connects to.
writeFileSync('/proc/sys/net/ipv4/ip_local_port_range', '40000 40000');
const toItself: string[] = [];
for (const kind of ['tcp', 'udp']) {
	const alone = new FlowExporter({ collectors: [`${kind}://127.0.0.1:40000`] });
	const broken = once(alone, 'disconnect') as Promise<[{ reason: string }]>;
	await alone.start();
	const [{ reason }] = await broken;
	toItself.push(reason);
	await alone.stop();
}

report({ toItself, heard, keepAlive, cycles, before, after, warnings, families, firstAttempt: attempts[0] });

function portOf(listening: Server): number {
	const bound = listening.address();
	return typeof bound === 'object' && bound !== null ? bound.port : 0;
}

/** In this process's own mount namespace. */
function hosts(addresses: string[], name: string): void {
	const file = join(temporaryFolder('hosts'), 'hosts');
	writeFileSync(file, addresses.map((address) => `${address} ${name}\n`).join(''));
	run('mount', '--bind', file, '/etc/hosts');
}
