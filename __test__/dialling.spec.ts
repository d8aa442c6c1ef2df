import { once } from 'node:events';
import { createServer } from 'node:net';
import test from 'ava';
import { dialTcp } from '../lib/transport/dial_tcp.ts';
import { resolve } from '../lib/transport/resolve.ts';

const nothing = () => undefined;
const host = { window: 65_536, addOwn: nothing, removeOwn: nothing };

test('a connection that cannot be left out of the export is given up', async (t) => {
	const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const bound = server.address();
	const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
	let removed = 0;
	const full = {
		...host,
		addOwn: () => {
			throw new Error('no more own sessions');
		},
		removeOwn: () => {
			removed += 1;
		},
	};
	const { signal } = new AbortController();
	await t.throwsAsync(dialTcp({ address: '127.0.0.1', family: 4 }, port, 5_000, signal, full), {
		message: 'no more own sessions',
	});
	t.is(removed, 0, 'it was never added');
	server.close();
});

test('nothing is dialled or asked for once it is called off', async (t) => {
	const signal = AbortSignal.abort();
	const address = { address: '127.0.0.1', family: 4 } as const;
	await t.throwsAsync(dialTcp(address, 9, 5_000, signal, host), { message: 'given up' });
	await t.throwsAsync(resolve('localhost', 5_000, signal), { message: 'given up' });
	const later = new AbortController();
	const asked = resolve('localhost', 5_000, later.signal);
	later.abort();
	await t.throwsAsync(asked, { message: 'given up' });
});
