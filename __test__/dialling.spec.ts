import { once } from 'node:events';
import { createServer } from 'node:net';
import test from 'ava';
import { dialTcp } from '../lib/transport/dial_tcp.ts';
import { dialFirst } from '../lib/transport/dialling.ts';
import { type Address, resolve } from '../lib/transport/resolve.ts';
import { inNamespace } from './support/namespace.ts';

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

const addresses: Address[] = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((address) => ({
	address,
	family: 4,
}));

/** Attempts that end when the test says so. */
function attempts(nextAfter: number, signal = new AbortController().signal) {
	const begun: string[] = [];
	const aborted: string[] = [];
	const dropped: string[] = [];
	const failed: string[] = [];
	const ends = new Map<string, { answer(): void; refuse(): void }>();
	const won = dialFirst<string>(addresses, {
		dial: ({ address }, signal) =>
			new Promise((resolve, reject) => {
				begun.push(address);
				signal.addEventListener('abort', () => aborted.push(address));
				ends.set(address, { answer: () => resolve(address), refuse: () => reject(new Error('refused')) });
			}),
		drop: (connection) => dropped.push(connection),
		failed: ({ address }, reason) => failed.push(`${address}: ${reason}`),
		signal,
		nextAfter,
	});
	return { won, begun, aborted, dropped, failed, end: (address: string) => ends.get(address) };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('an address that does not answer holds up none of the others, and the first to answer wins', async (t) => {
	const { won, begun, aborted, dropped, end } = attempts(1);
	while (begun.length < 3) await turn();
	end('192.0.2.2')?.answer();
	t.deepEqual(await won, { address: { address: '192.0.2.2', family: 4 }, connection: '192.0.2.2' });
	t.deepEqual(aborted, ['192.0.2.1', '192.0.2.2', '192.0.2.3']);
	end('192.0.2.3')?.answer();
	await turn();
	t.deepEqual(dropped, ['192.0.2.3'], 'one that was too late is not left open');
});

test('the next address is tried at once when one fails, and not before it has to be', async (t) => {
	const { won, begun, failed, end } = attempts(1_000_000);
	await turn();
	t.deepEqual(begun, ['192.0.2.1']);
	end('192.0.2.1')?.refuse();
	await turn();
	t.deepEqual(begun, ['192.0.2.1', '192.0.2.2']);
	end('192.0.2.2')?.refuse();
	await turn();
	end('192.0.2.3')?.refuse();
	t.is(await won, undefined);
	t.deepEqual(
		failed,
		addresses.map(({ address }) => `${address}: refused`),
	);
});

test('dialling that is called off ends all attempts', async (t) => {
	const off = new AbortController();
	const { won, begun, aborted } = attempts(1, off.signal);
	while (begun.length < 3) await turn();
	off.abort();
	t.is(await won, undefined);
	t.is(aborted.length, 3);
});

test('a name whose first address swallows every packet: the second is used at once, and the first attempt ends', async (t) => {
	t.deepEqual(await inNamespace('side_by_side'), ['', '']);
});
