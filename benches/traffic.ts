/**
 * 2,000 new connections a second of one datagram each, and 500 that go on all the time, whose keys the parent is told.
 * Until the parent goes.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

const NEW_PER_SECOND = 2_000;
const TICK_MS = 50;
const LONG_LIVED = 500;
/** Ports of the short-lived ones; each comes again only when its last connection is long gone. */
const FIRST_PORT = 1_000;
const LAST_PORT = 61_000;

process.on('disconnect', () => process.exit(0));
const short = createSocket('udp4').bind(0, '127.0.0.1');
const long = createSocket('udp4').bind(0, '127.0.0.1');
await Promise.all([once(short, 'listening'), once(long, 'listening')]);
short.on('error', () => undefined);
long.on('error', () => undefined);
const payload = Buffer.alloc(32);
let port = FIRST_PORT;
let sent = 0;
const start = performance.now();
setInterval(() => {
	const wanted = ((performance.now() - start) / 1_000) * NEW_PER_SECOND;
	for (; sent < wanted; sent += 1) {
		short.send(payload, port, '127.0.0.1');
		port = port === LAST_PORT ? FIRST_PORT : port + 1;
	}
}, TICK_MS);
const keepAlive = () => {
	for (let number = 1; number <= LONG_LIVED; number += 1) long.send(payload, number, '127.0.0.1');
};
keepAlive();
setInterval(keepAlive, 700);
process.send?.({
	longLived: Array.from(
		{ length: LONG_LIVED },
		(_, index) => `udp 127.0.0.1:${long.address().port} > 127.0.0.1:${index + 1}`,
	),
});
