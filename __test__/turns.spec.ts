import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { Intake } from '../lib/collector/intake.ts';
import { Ledger } from '../lib/collector/ledger.ts';
import { Queue } from '../lib/collector/queue.ts';
import { Session } from '../lib/collector/session.ts';
import { receivingSettings } from '../lib/collector/settings.ts';
import { Turns } from '../lib/collector/turns.ts';
import { Collector } from '../lib/index.ts';
import { DATA_SET, message, TEMPLATE_SET } from './support/records.ts';

/** A clock that leaps past any turn each time it is read: each turn has time for one chunk that comes, and one that waits. */
let clock = performance.now();
performance.now = () => {
	clock += 1_000;
	return clock;
};

const turn = () => new Promise((resolve) => setImmediate(resolve));

class FakeStream {
	held = false;
	pause() {
		this.held = true;
	}
	resume() {
		this.held = false;
	}
}

test('what a turn has no time for waits in order, with its stream held back', async (t) => {
	const decoded: string[] = [];
	const turns = new Turns<string>((session, chunk) => decoded.push(`${session}${chunk}`));
	const streams = { a: new FakeStream(), b: new FakeStream(), c: new FakeStream() };
	const take = (name: keyof typeof streams, chunk: string) =>
		turns.take(name, Buffer.from(chunk), streams[name]);
	take('a', '1');
	take('b', '1');
	take('c', '1');
	take('b', '2');
	t.deepEqual(decoded, ['a1']);
	t.deepEqual([streams.a.held, streams.b.held, streams.c.held], [false, true, true]);
	await turn();
	t.deepEqual(decoded, ['a1', 'b1', 'b2']);
	t.deepEqual([streams.b.held, turns.waits('b'), turns.waits('c')], [false, false, true]);
	take('a', '2');
	t.deepEqual(decoded, ['a1', 'b1', 'b2'], 'nobody overtakes who waits');
	await turn();
	await turn();
	t.deepEqual(decoded, ['a1', 'b1', 'b2', 'c1', 'a2']);
	t.false(streams.a.held);
});

test('while the queue is full nothing that waits is decoded, but for a session that ends', async (t) => {
	const decoded: string[] = [];
	const turns = new Turns<string>((session) => decoded.push(session));
	const stream = new FakeStream();
	turns.hold(true);
	for (const name of ['a', 'b', 'c']) turns.take(name, Buffer.of(0), stream);
	for (let turned = 0; turned < 3; turned += 1) await turn();
	t.deepEqual(decoded, []);
	turns.flush('b');
	t.deepEqual(decoded, ['b']);
	turns.hold(false);
	for (let turned = 0; turned < 3; turned += 1) await turn();
	t.deepEqual(decoded, ['b', 'a', 'c']);
});

test('what was read before a connection broke, or gave way, is decoded', (t) => {
	const settings = receivingSettings({ listen: ['tcp://127.0.0.1:0'] });
	for (const end of ['broken', 'closed'] as const) {
		const ledger = new Ledger(() => undefined);
		const intake = new Intake(settings, new Queue(settings.maxQueuedBytes), ledger, new EventEmitter());
		const session = new Session('tcp', 'peer', settings, () => undefined);
		intake.admit(session, '127.0.0.1', 1);
		intake.open(session);
		intake.takeInTurn(session, message(TEMPLATE_SET), new FakeStream());
		const data = message(DATA_SET);
		intake.takeInTurn(session, Buffer.concat([data, data.subarray(0, 20)]), new FakeStream());
		t.is(ledger.counters.records, 0);
		intake[end](session, new Error('reset'));
		t.is(ledger.counters.records, 1);
		t.is(session.ending?.error, end === 'broken' ? 'reset: ended 20 octets into a message' : undefined);
		intake.dispose();
	}
});

test('what waits when nobody reads the records waits until somebody does', async (t) => {
	const settings = receivingSettings({ listen: ['tcp://127.0.0.1:0'], maxQueuedBytes: 4_096 });
	const ledger = new Ledger(() => undefined);
	const queue = new Queue(settings.maxQueuedBytes);
	const intake = new Intake(settings, queue, ledger, new EventEmitter());
	queue.onFull = (full) => intake.hold(full);
	const session = new Session('tcp', 'peer', settings, () => undefined);
	const stream = new FakeStream();
	intake.admit(session, '127.0.0.1', 1);
	intake.open(session);
	const data = message(DATA_SET);
	const many = Array.from({ length: 100 }, () => data);
	intake.takeInTurn(session, Buffer.concat([message(TEMPLATE_SET), ...many]), stream);
	t.true(queue.full);
	intake.takeInTurn(session, data, stream);
	for (let turned = 0; turned < 3; turned += 1) await turn();
	t.is(ledger.counters.records, 100);
	t.true(stream.held);
	t.true(intake.isHeld(session));
	await queue.take();
	for (let turned = 0; turned < 3; turned += 1) await turn();
	t.is(ledger.counters.records, 101);
	t.false(stream.held);
	intake.dispose();
});

test('a flood over many connections leaves the event loop a turn after each few chunks, and nothing is lost', async (t) => {
	const each = 40_000;
	const collector = new Collector({ listen: ['tcp://127.0.0.1:0'], maxQueuedBytes: 1_073_741_824 });
	await collector.start();
	const port = Number(collector.addresses[0]?.split(':').at(-1));
	const sockets: Socket[] = await Promise.all(
		Array.from({ length: 8 }, async () => {
			const socket = connect(port, '127.0.0.1');
			socket.resume();
			await once(socket, 'connect');
			return socket;
		}),
	);
	const data = message(DATA_SET);
	const flood = Buffer.concat([message(TEMPLATE_SET), ...Array.from({ length: each }, () => data)]);
	// Its last message is cut.
	for (const socket of sockets) socket.end(flood.subarray(0, -1));
	let most = 0;
	let seen = 0;
	while (collector.stats().malformed < sockets.length) {
		await turn();
		const { records } = collector.stats();
		most = Math.max(most, records - seen);
		seen = records;
	}
	t.is(seen, sockets.length * (each - 1));
	const chunk = Math.ceil(65_536 / data.length) + 1;
	t.true(most <= 3 * chunk, `${most} records in a turn, ${chunk} a chunk`);
	await collector.stop();
});
