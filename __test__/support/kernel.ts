/**
 * The kernel's side of a scenario, by its own tools: nft turns tracking on, `conntrack` tells what was counted.
 * None of it uses the code under test. For use inside a namespace of the scenario's own.
 */
import { execFileSync } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { type EventEmitter, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';

/**
 * The port of a collector that is away at times: below the ephemeral ports, of which another socket may get any that
 * is free, even the one that connects to it.
 */
export const COLLECTOR_PORT = 4739;

export interface KernelFlow {
	/** `tcp 127.0.0.1:1 > 127.0.0.1:2`. */
	key: string;
	packets: number;
	octets: number;
	reversePackets: number;
	reverseOctets: number;
	state: string;
}

/** Loopback up, every connection tracked, counted and timed. */
export function track(): void {
	run('ip', 'link', 'set', 'lo', 'up');
	// On a busy machine a scenario may take longer than the usual half minute.
	writeFileSync('/proc/sys/net/netfilter/nf_conntrack_udp_timeout', '600');
	for (const setting of ['acct', 'timestamp'])
		writeFileSync(`/proc/sys/net/netfilter/nf_conntrack_${setting}`, '1');
	run('nft', 'add table inet track');
	run('nft', 'add chain inet track out { type filter hook output priority 0; }');
	run('nft', 'add rule inet track out ct state new counter');
}

/** Not the PATH of npm: an `nft` of node_modules/.bin is another program. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export function run(command: string, ...args: string[]): string {
	return execFileSync(command, args, {
		encoding: 'utf8',
		maxBuffer: 256 * 1024 * 1024,
		stdio: ['ignore', 'pipe', 'pipe'],
		env: { ...process.env, PATH },
	});
}

/** What `conntrack -L` says now, for both families; `port` leaves out what has it at either end. */
export function kernelFlows(...withoutPorts: number[]): KernelFlow[] {
	return ['ipv4', 'ipv6']
		.flatMap((family) => run('conntrack', '-L', '-f', family, '-o', 'extended').split('\n'))
		.filter((line) => line !== '')
		.map(parseFlow)
		.filter(({ key }) => !withoutPorts.some((port) => key.endsWith(`:${port}`)));
}

/** Forgets every entry. */
export function flushKernel(): void {
	run('conntrack', '-F');
}

function parseFlow(line: string): KernelFlow {
	const values = (name: string) =>
		[...line.matchAll(new RegExp(` ${name}=(\\S+)`, 'g'))].map((match) => match[1] ?? '');
	const [source, destination, sport, dport] = ['src', 'dst', 'sport', 'dport'].map((name) => values(name)[0]);
	const [packets = 0, reversePackets = 0] = values('packets').map(Number);
	const [octets = 0, reverseOctets = 0] = values('bytes').map(Number);
	const [, , protocol] = line.split(/\s+/);
	const state =
		/\b(SYN_SENT|SYN_RECV|ESTABLISHED|FIN_WAIT|CLOSE_WAIT|LAST_ACK|TIME_WAIT|CLOSE)\b/.exec(line)?.[1] ?? '';
	return {
		key: `${protocol} ${source}:${sport} > ${destination}:${dport}`,
		packets,
		octets,
		reversePackets,
		reverseOctets,
		state,
	};
}

/** An echo server for TCP; port 0 takes a free one. */
export async function tcpEcho(address: string, port = 0): Promise<{ port: number; server: Server }> {
	const server = createServer((socket) => {
		socket.on('error', () => undefined);
		socket.pipe(socket);
	});
	server.listen(port, address);
	await once(server, 'listening');
	const bound = server.address();
	return { port: typeof bound === 'object' && bound !== null ? bound.port : 0, server };
}

/** One connection that sends `octets`, gets them back and closes. */
export async function tcpExchange(address: string, port: number, octets: number): Promise<void> {
	const socket = connect(port, address);
	socket.resume();
	socket.end(Buffer.alloc(octets, 1));
	await once(socket, 'close');
}

/** A UDP socket that sends everything back. */
export async function udpEcho(address: string, port = 0): Promise<{ port: number; close(): void }> {
	const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
	socket.on('message', (message, peer) => socket.send(message, peer.port, peer.address));
	socket.bind(port, address);
	await once(socket, 'listening');
	return { port: socket.address().port, close: () => socket.close() };
}

/** Of sockets that must not have the port of one before: an ephemeral port that was closed may come again at once. */
let nextPort = 20_000;

async function boundSocket(address: string): Promise<Socket> {
	const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4').bind(nextPort++, address);
	await once(socket, 'listening');
	return socket;
}

/** One socket that sends `count` datagrams of `octets` and waits for all to come back. */
export async function udpExchange(
	address: string,
	port: number,
	count: number,
	octets: number,
): Promise<void> {
	const socket = await boundSocket(address);
	for (let number = 0; number < count; number += 1) {
		socket.send(Buffer.alloc(octets, 2), port, address);
		await once(socket, 'message');
	}
	socket.close();
}

/** `count` connections over UDP in one direction: each a datagram of `octets` from a socket of its own. */
export async function udpFlows(address: string, port: number, count: number, octets: number): Promise<void> {
	for (let number = 0; number < count; number += 1) {
		const socket = await boundSocket(address);
		await new Promise<void>((resolve) =>
			socket.send(Buffer.alloc(octets, 3), port, address, () => resolve()),
		);
		socket.close();
	}
}

/**
 * `count` connections of one datagram each, from one socket to the ports from 1 on, where nobody listens. `from`: the
 * socket's address; by default the kernel chooses.
 */
export async function unansweredFlows(
	address: string,
	count: number,
	octets: number,
	from?: string,
): Promise<void> {
	const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
	if (from !== undefined) {
		socket.bind(0, from);
		await once(socket, 'listening');
	}
	for (let port = 1; port <= count; port += 1) {
		await new Promise<void>((resolve) =>
			socket.send(Buffer.alloc(octets, 4), port, address, () => resolve()),
		);
	}
	socket.close();
}

export function sleep(milliseconds: number): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Waits until `holds` is true; the scenario fails when that takes longer than `patience` milliseconds. */
export async function until(what: string, holds: () => boolean, patience = 30_000): Promise<void> {
	for (let waited = 0; !holds(); waited += 20) {
		if (waited > patience) throw new Error(`waited in vain until ${what}`);
		await sleep(20);
	}
}

/** Waits until the exporter has seen all that the kernel counts now: the end of a poll that began after this call. */
export async function seen(exporter: EventEmitter): Promise<void> {
	await once(exporter, 'poll');
	await once(exporter, 'poll');
}
