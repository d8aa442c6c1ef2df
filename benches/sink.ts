/**
 * A collector that only reads: octets and when the first and the last came, in nanoseconds of the machine's monotonic
 * clock. Asked for them by any message of its parent; the next ones count anew.
 */
import { createServer } from 'node:net';

let octets = 0;
let first = 0n;
let last = 0n;
const server = createServer((socket) => {
	socket.on('error', () => undefined);
	socket.on('data', (chunk) => {
		last = process.hrtime.bigint();
		if (octets === 0) first = last;
		octets += chunk.length;
	});
}).listen(0, '127.0.0.1', () => {
	const bound = server.address();
	process.send?.({ port: typeof bound === 'object' && bound !== null ? bound.port : 0 });
});
process.on('message', () => {
	process.send?.({ octets, first: String(first), last: String(last) });
	octets = 0;
});
process.on('disconnect', () => process.exit(0));
