/** Connections of the HTTP server: at most so many, and those that ask nothing give way. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Past `limit`, the connection is closed that waits for longest without a request being answered, and a new one is refused
 * where all are. One that asks again before it was answered is closed: whoever answers must look whether the socket is destroyed.
 */
export function limitConnections(server: Server, limit: number): void {
	const waiting = new Set<Socket>();
	const answering = new Set<Socket>();
	server.on('connection', (socket) => {
		if (waiting.size + answering.size >= limit) {
			const [oldest] = waiting;
			if (oldest === undefined) {
				socket.destroy();
				return;
			}
			waiting.delete(oldest);
			oldest.destroy();
		}
		waiting.add(socket);
		socket.once('close', () => {
			waiting.delete(socket);
			answering.delete(socket);
		});
	});
	server.prependListener('request', ({ socket }, response) => {
		// Thousands of requests come in one packet, and the answer to each would be kept until it is read.
		if (answering.has(socket)) {
			socket.destroy();
			return;
		}
		waiting.delete(socket);
		answering.add(socket);
		response.once('close', () => {
			if (!answering.delete(socket) || socket.destroyed) return;
			waiting.add(socket);
		});
	});
}
