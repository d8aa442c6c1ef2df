/**
 * The traffic of every scenario: both families, TCP, UDP and ICMP, answered and not, translated and not, in a zone
 * and with a mark. Documentation addresses on loopback; for use in a namespace of the scenario's own.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import { run, sleep, tcpEcho, track, udpEcho } from '../../__test__/support/kernel.ts';
import { output } from './program.ts';

interface Network {
	client: string;
	server: string;
	/** Translated to the server. */
	service: string;
	/** What the client's address becomes on the way to `MASKED_PORT`. */
	mask: string;
	ping: readonly string[];
}

const NETWORKS: Readonly<Record<'ip' | 'ip6', Network>> = {
	ip: {
		client: '192.0.2.1',
		server: '192.0.2.2',
		service: '192.0.2.9',
		mask: '192.0.2.7',
		ping: ['-4'],
	},
	ip6: {
		client: '2001:db8::1',
		server: '2001:db8::2',
		service: '2001:db8::9',
		mask: '2001:db8::7',
		ping: ['-6'],
	},
};

export const ZONE = 7;
export const MARK = 0x2a;
const SERVICE_PORT = 7_080;
const ZONE_PORT = 7_007;
const MARK_PORT = 7_042;
const MASKED_PORT = 7_088;
const FIXED_UDP_PORTS = [ZONE_PORT, MARK_PORT] as const;
/** Connections that `traffic` makes. */
export const CONNECTIONS = 28;

/** Turns tracking, translation, marks and zones on. `zones`: one for everything of a family, as Antrea's bridge has. */
export function prepare(zones?: { ip: number; ip6: number }): void {
	track();
	run('nft', 'add table inet interop');
	const chain = (name: string, spec: string, ...rules: string[]) => {
		run('nft', `add chain inet interop ${name} { ${spec}; }`);
		for (const rule of rules) run('nft', `add rule inet interop ${name} ${rule}`);
	};
	const zoneRules =
		zones === undefined
			? [`udp dport ${ZONE_PORT} ct zone set ${ZONE}`, `udp sport ${ZONE_PORT} ct zone set ${ZONE}`]
			: [`meta nfproto ipv4 ct zone set ${zones.ip}`, `meta nfproto ipv6 ct zone set ${zones.ip6}`];
	chain('zones', 'type filter hook output priority raw', ...zoneRules);
	chain('marks', 'type filter hook output priority mangle', `udp dport ${MARK_PORT} ct mark set ${MARK}`);
	const networks = Object.entries(NETWORKS);
	chain(
		'services',
		'type nat hook output priority -100',
		...networks.flatMap(([family, { server, service }]) => [
			`meta l4proto { icmp, ipv6-icmp } ${family} daddr ${service} dnat ${family} to ${server}`,
		]),
	);
	chain(
		'masks',
		'type nat hook postrouting priority 100',
		...networks.map(
			([family, { server, mask }]) =>
				`${family} daddr ${server} tcp dport ${MASKED_PORT} snat ${family} to ${mask}`,
		),
	);
	for (const [, { client, server, service, mask }] of networks) {
		for (const address of [client, server, service, mask])
			run('ip', 'address', 'add', `${address}/${address.includes(':') ? 128 : 32}`, 'dev', 'lo');
	}
}

/** Makes `CONNECTIONS` connections; some last longer than a second. */
export async function traffic(): Promise<void> {
	await Promise.all([exchange('ip'), exchange('ip6')]);
}

async function exchange(family: 'ip' | 'ip6'): Promise<void> {
	const { client, server, service, ping } = NETWORKS[family];
	const tcp = await tcpEcho(server);
	const masked = await tcpEcho(server, MASKED_PORT);
	const udp = await udpEcho(server);
	const fixed = await Promise.all(FIXED_UDP_PORTS.map((port) => udpEcho(server, port)));
	const sink = await boundSocket(server, 0);
	for (const [protocol, port] of [
		['tcp', tcp.port],
		['udp', udp.port],
	] as const)
		run(
			'nft',
			`add rule inet interop services ${family} daddr ${service} ${protocol} dport ${SERVICE_PORT} dnat ${family} to ${address(server, port)}`,
		);
	await Promise.all([
		...[1, 5_000, 300_000].map((octets) => tcpExchange(client, server, tcp.port, octets)),
		tcpExchange(client, service, SERVICE_PORT, 20_000),
		tcpExchange(client, server, MASKED_PORT, 700),
		udpExchange(client, server, udp.port, 1, 1),
		udpExchange(client, server, udp.port, 24, 700, 50),
		udpExchange(client, service, SERVICE_PORT, 3, 100),
		...FIXED_UDP_PORTS.map((port) => udpExchange(client, server, port, 2, 40)),
		udpOneWay(client, server, sink.address().port, 2, 1_000),
		output('ping', ...ping, '-q', '-n', '-c', '4', '-i', '0.3', '-s', '100', '-I', client, server),
		output('ping', ...ping, '-q', '-n', '-c', '2', '-i', '0.2', '-I', client, service),
		output('ping', ...ping, '-q', '-n', '-c', '1', '-s', '1000', '-I', service, server),
	]);
	tcp.server.close();
	masked.server.close();
	for (const socket of [udp, sink, ...fixed]) socket.close();
}

function address(host: string, port: number): string {
	return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

async function boundSocket(host: string, port: number): Promise<Socket> {
	const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
	socket.bind(port, host);
	await once(socket, 'listening');
	return socket;
}

/** One connection that sends `octets`, gets them back and closes. */
async function tcpExchange(client: string, server: string, port: number, octets: number): Promise<void> {
	const socket = connect({ host: server, port, localAddress: client });
	socket.resume();
	socket.end(Buffer.alloc(octets, 1));
	await once(socket, 'close');
}

/** `count` datagrams of `octets`, each sent `pause` ms after the answer to the one before. */
async function udpExchange(
	client: string,
	server: string,
	port: number,
	count: number,
	octets: number,
	pause = 0,
): Promise<void> {
	const socket = await boundSocket(client, 0);
	for (let number = 0; number < count; number += 1) {
		socket.send(Buffer.alloc(octets, 2), port, server);
		await once(socket, 'message');
		if (pause > 0) await sleep(pause);
	}
	socket.close();
}

async function udpOneWay(
	client: string,
	server: string,
	port: number,
	count: number,
	octets: number,
): Promise<void> {
	const socket = await boundSocket(client, 0);
	for (let number = 0; number < count; number += 1) {
		await new Promise<void>((resolve) => socket.send(Buffer.alloc(octets, 3), port, server, () => resolve()));
	}
	socket.close();
}
