/** The demo's traffic: TCP and UDP on loopback, IPv4 and IPv6, continuous, gentle and bounded. */
import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';

export interface Traffic {
	stop(): void;
}

const ADDRESSES = ['127.0.0.1', '::1'] as const;
const TURN_MS = 400;
const MOST_OCTETS = 32 * 1024;
const DATAGRAMS = 3;

/**
 * Every 400 ms one short TCP connection and one short UDP exchange, the families in turn; beside them one TCP
 * connection that stays. `unref`ed throughout: the traffic keeps nothing alive.
 */
export async function startTraffic(): Promise<Traffic> {
	const servers: Server[] = [];
	const responders: DatagramSocket[] = [];
	for (const address of ADDRESSES) {
		const server = createServer((socket) => {
			socket.unref().on('error', () => undefined);
			socket.pipe(socket);
		});
		server.unref().listen(0, address);
		await once(server, 'listening');
		servers.push(server);
		const responder = createSocket(address === '::1' ? 'udp6' : 'udp4');
		responder.unref().on('error', () => undefined);
		responder.on('message', (message, { address, port }) =>
			responder.send(message, port, address, () => undefined),
		);
		responder.bind(0, address);
		await once(responder, 'listening');
		responders.push(responder);
	}
	const portOf = (server: Server) => {
		const bound = server.address();
		return typeof bound === 'object' && bound !== null ? bound.port : 0;
	};

	const lasting = connect(portOf(servers[0] as Server), ADDRESSES[0]);
	lasting
		.unref()
		.on('error', () => undefined)
		.resume();
	let turn = 0;
	const timer = setInterval(() => {
		const index = turn % ADDRESSES.length;
		const [server, responder, address] = [servers[index], responders[index], ADDRESSES[index]];
		turn += 1;
		if (server === undefined || responder === undefined || address === undefined) return;
		lasting.write(`turn ${turn}\n`);
		download(address, portOf(server), 1 + ((turn * 7919) % MOST_OCTETS));
		exchange(address, responder.address().port);
	}, TURN_MS).unref();
	return {
		stop: () => {
			clearInterval(timer);
			lasting.destroy();
			for (const server of servers) server.close();
			for (const responder of responders) responder.close();
		},
	};
}

function download(address: string, port: number, octets: number): void {
	const socket = connect(port, address);
	socket
		.unref()
		.on('error', () => undefined)
		.resume();
	socket.end(Buffer.alloc(octets, 'conntrack-ipfix '));
}

function exchange(address: string, port: number): void {
	const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
	let answers = 0;
	socket.unref().on('error', () => undefined);
	socket.on('message', () => {
		answers += 1;
		if (answers === DATAGRAMS) socket.close();
	});
	for (let number = 0; number < DATAGRAMS; number += 1) {
		socket.send(Buffer.alloc(100 + 50 * number), port, address, () => undefined);
	}
}
