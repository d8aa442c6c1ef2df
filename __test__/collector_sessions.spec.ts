import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { Places, TemplateMemory } from '../lib/collector/sessions.ts';
import { Collector, type CollectorOptions, type CollectorWarning } from '../lib/index.ts';
import { DATA_SET, message, TEMPLATE_SET, templateSet } from './support/records.ts';

const TEMPLATE = message(TEMPLATE_SET);
const DATA = message(DATA_SET);

async function listening(options: Partial<CollectorOptions> & { kind?: string } = {}) {
	const { kind = 'tcp', ...rest } = options;
	const collector = new Collector({ listen: [`${kind}://127.0.0.1:0`], ...rest });
	const warnings: CollectorWarning[] = [];
	collector.on('warning', (warning) => warnings.push(warning));
	await collector.start();
	const port = Number(collector.addresses[0]?.split(':').at(-1));
	return { collector, port, warnings };
}

async function connected(port: number): Promise<Socket> {
	const socket = connect(port, '127.0.0.1');
	socket.on('error', () => undefined).resume();
	await once(socket, 'connect');
	return socket;
}

/** An error before it, such as a reset, is no reason not to wait. */
const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));

async function until(holds: () => boolean): Promise<void> {
	while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

const session = (name: string) => ({ name, lastMessage: 0, heard: false });

test('for a new session the one goes that never delivered a message, then the quietest that is not busy', (t) => {
	const places = new Places<ReturnType<typeof session>>(3, 1_000);
	const [one, two, three] = [session('one'), session('two'), session('three')];
	t.is(places.inTheWay(0), null);
	for (const each of [one, two, three]) places.add(each);
	t.is(places.inTheWay(0), one);
	places.heard(one, 100);
	t.is(places.inTheWay(100), two);
	places.heard(two, 200);
	places.heard(three, 300);
	places.heard(one, 400);
	t.is(places.inTheWay(1_199), undefined, 'all delivered something within the last second');
	t.is(places.inTheWay(1_200), two);
	t.true(places.delete(two));
	t.false(places.delete(two));
	t.is(places.inTheWay(1_200), null);
	places.heard(two, 1_300);
	t.is(places.size, 2, 'one that is gone does not come back');
});

test('who is silent for longer than allowed is found, whoever was held back is not', (t) => {
	const places = new Places<ReturnType<typeof session>>(9, 1_000);
	const [silent, quiet, busy] = [session('silent'), session('quiet'), session('busy')];
	for (const each of [silent, quiet, busy]) places.add(each);
	places.heard(quiet, 1_000);
	places.heard(busy, 2_000);
	t.deepEqual(places.quietFor(5_000, 4_999), []);
	t.deepEqual(places.quietFor(5_000, 5_000), [silent]);
	t.deepEqual(places.quietFor(5_000, 6_500), [silent, quiet]);
	places.excuse(6_500);
	t.deepEqual(places.quietFor(5_000, 11_499), []);
	t.deepEqual(places.quietFor(5_000, 11_500), [silent, quiet, busy]);
});

test('templates of all sessions have one bound, and the longest unused give way', (t) => {
	const memory = new TemplateMemory<string>(100);
	t.deepEqual(memory.use('one', 40), []);
	t.deepEqual(memory.use('two', 40), []);
	t.deepEqual(memory.use('one', 50), []);
	t.is(memory.total, 90);
	t.deepEqual(memory.use('three', 60), ['two', 'one']);
	t.is(memory.total, 60);
	t.deepEqual(memory.use('four', 300), ['three', 'four'], 'even the one that asks');
	t.is(memory.total, 0);
	memory.use('five', 10);
	memory.forget('five');
	memory.forget('five');
	t.is(memory.total, 0);
});

test('idle connections lock nobody out', async (t) => {
	const { collector, port } = await listening({ maxSessions: 16 });
	const idle = await Promise.all(Array.from({ length: 16 }, () => connected(port)));
	await until(() => collector.stats().sessions === 16);
	const gone = closed(idle[0] as Socket);
	const ended = once(collector, 'disconnect');
	const exporter = await connected(port);
	exporter.write(Buffer.concat([TEMPLATE, DATA]));
	for await (const records of collector) {
		t.is(records.length, 1);
		break;
	}
	await gone;
	t.like((await ended)[0], { code: 'ERR_NO_ROOM', error: 'gave way to a newer session' });
	t.like(collector.stats(), { sessions: 16, displacedSessions: 1, refusedSessions: 0 });
	for (const socket of [...idle, exporter]) socket.destroy();
	await collector.stop();
});

test('when everybody is busy a new connection is refused and counted', async (t) => {
	const { collector, port, warnings } = await listening({ maxSessions: 1 });
	const first = await connected(port);
	first.write(TEMPLATE);
	// It goes on delivering, whatever time the second one takes.
	const busy = setInterval(() => first.write(DATA), 20);
	await until(() => collector.stats().records > 0);
	const second = await connected(port);
	await closed(second);
	t.like(collector.stats(), { sessions: 1, refusedSessions: 1, displacedSessions: 0 });
	t.regex(warnings[0]?.message ?? '', /^a session had no room; the last: 127\.0\.0\.1:\d+ was refused: all/);
	clearInterval(busy);
	first.destroy();
	await collector.stop();
});

test('a session without a message for the idle limit is closed, over TCP and over UDP', async (t) => {
	const { collector, port } = await listening({ idleTimeout: 50 });
	const silent = await connected(port);
	const trickling = await connected(port);
	// Octets that never become a message are no sign of life.
	const trickle = setInterval(() => trickling.write(Buffer.of(0)), 5);
	trickling.write(TEMPLATE.subarray(0, 16));
	await Promise.all([closed(silent), closed(trickling)]);
	clearInterval(trickle);
	t.like(collector.stats(), { sessions: 0, idleSessions: 2 });
	await collector.stop();

	const udp = await listening({ kind: 'udp', idleTimeout: 50 });
	const ended = once(udp.collector, 'disconnect');
	const socket = createSocket('udp4');
	socket.send(TEMPLATE, udp.port, '127.0.0.1');
	t.like((await ended)[0], { transport: 'udp', code: 'ERR_IDLE' });
	socket.close();
	await udp.collector.stop();
});

test('whoever is held back because nobody reads is not idle', async (t) => {
	const { collector, port } = await listening({ idleTimeout: 1_000, maxQueuedBytes: 4_096 });
	const socket = await connected(port);
	socket.write(TEMPLATE);
	const many = Buffer.concat(Array.from({ length: 1_000 }, (_, sequence) => message(DATA_SET, { sequence })));
	for (let round = 0; round < 100; round += 1) socket.write(many);
	await until(() => collector.stats().queuedBytes >= 4_096);
	// Twice the time after which it would be closed.
	await new Promise((resolve) => setTimeout(resolve, 2_500));
	t.like(collector.stats(), { sessions: 1, idleSessions: 0 });
	let records = 0;
	for await (const batch of collector) {
		records += batch.length;
		if (records === 100_000) break;
	}
	t.is(collector.stats().idleSessions, 0);
	socket.destroy();
	await collector.stop();
});

test('the kernel asks an exporter that is silent whether it is still there', async (t) => {
	const { collector, port } = await listening();
	const socket = await connected(port);
	await until(() => collector.stats().sessions === 1);
	const connections = execFileSync('ss', ['-Htno', 'sport', '=', `:${port}`], { encoding: 'utf8' });
	t.regex(connections, /timer:\(keepalive,/);
	socket.destroy();
	await collector.stop();
});

test('a reset is told as one, and what it cut off', async (t) => {
	const { collector, port, warnings } = await listening();
	for (const [octets, error, malformed] of [
		[
			Buffer.concat([TEMPLATE, DATA.subarray(0, 20)]),
			'reset by the exporter: ended 20 octets into a message',
			1,
		],
		[TEMPLATE, 'reset by the exporter', 1],
	] as const) {
		const ended = once(collector, 'disconnect');
		const socket = await connected(port);
		const before = collector.stats().templateBytes;
		socket.write(octets);
		await until(() => collector.stats().templateBytes > before);
		socket.resetAndDestroy();
		t.like((await ended)[0], { error, code: 'ECONNRESET' });
		t.is(collector.stats().malformed, malformed);
	}
	t.like(collector.stats(), { sessions: 0, brokenSessions: 2, templateBytes: 0 });
	await collector.stop();
	t.deepEqual(
		warnings.map(({ code }) => code).filter((code) => code !== 'ERR_CONNECTION'),
		[],
	);
	t.is(
		warnings.reduce((sum, { count }) => sum + count, 0),
		2,
	);
});

test('templates of strangers do not take the memory, and the session that lost its own begins anew', async (t) => {
	const { collector, port } = await listening({ maxTemplateBytes: 1_000_000 });
	const exporter = await connected(port);
	exporter.write(TEMPLATE);
	await until(() => collector.stats().templateBytes > 0);
	const gone = closed(exporter);
	const wide = Buffer.concat(
		Array.from({ length: 8 }, (_, number) =>
			message(
				templateSet(
					Array.from({ length: 1_000 }, () => [228, 1]),
					256 + number,
				),
			),
		),
	);
	const strangers = await Promise.all(
		Array.from({ length: 8 }, async () => {
			const stranger = await connected(port);
			stranger.write(wide);
			return stranger;
		}),
	);
	// An exporter whose templates are gone would otherwise send what nobody can read, for as long as it is connected.
	await gone;
	await until(() => collector.stats().acceptedSessions === 9 && collector.stats().forgottenTemplates >= 3);
	const { templateBytes } = collector.stats();
	t.true(templateBytes <= 1_000_000, String(templateBytes));
	const again = await connected(port);
	again.write(Buffer.concat([TEMPLATE, DATA]));
	for await (const records of collector) {
		t.is(records[0]?.['octetDeltaCount'], 1500);
		break;
	}
	for (const socket of [...strangers, again]) socket.destroy();
	await collector.stop();
	t.is(collector.stats().templateBytes, 0);
});

test('over UDP a sender that lost its templates is read again from their next refresh', async (t) => {
	const { collector, port } = await listening({ kind: 'udp', maxTemplateBytes: 200_000 });
	const [exporter, stranger] = [createSocket('udp4'), createSocket('udp4')];
	const send = (socket: ReturnType<typeof createSocket>, octets: Buffer) =>
		new Promise((resolve) => socket.send(octets, port, '127.0.0.1', resolve));
	await send(exporter, TEMPLATE);
	await until(() => collector.stats().sessions === 1);
	for (let number = 0; collector.stats().forgottenTemplates === 0; number += 1) {
		await send(
			stranger,
			message(
				templateSet(
					Array.from({ length: 1_000 }, () => [228, 1]),
					256 + (number % 5),
				),
			),
		);
		await new Promise((resolve) => setImmediate(resolve));
	}
	await send(exporter, DATA);
	await until(() => collector.stats().unknownTemplateSets === 1);
	await send(exporter, TEMPLATE);
	await send(exporter, DATA);
	for await (const records of collector) {
		t.is(records.length, 1);
		break;
	}
	t.is(collector.stats().sessions, 2);
	exporter.close();
	stranger.close();
	await collector.stop();
});

test('what is no message opens no session over UDP, and takes nobody’s place', async (t) => {
	const { collector, port } = await listening({ kind: 'udp', maxSessions: 1 });
	const exporter = createSocket('udp4');
	exporter.send(TEMPLATE, port, '127.0.0.1');
	await until(() => collector.stats().sessions === 1);
	const stranger = createSocket('udp4');
	stranger.send(Buffer.from('x'), port, '127.0.0.1');
	await until(() => collector.stats().malformed === 1);
	t.like(collector.stats(), { sessions: 1, displacedSessions: 0, acceptedSessions: 1 });
	exporter.send(DATA, port, '127.0.0.1');
	await until(() => collector.stats().records === 1);
	exporter.close();
	stranger.close();
	await collector.stop();
});

test('gaps and sets without their template are counted and told', async (t) => {
	const { collector, port, warnings } = await listening();
	const socket = await connected(port);
	socket.write(
		Buffer.concat([DATA, TEMPLATE, message(DATA_SET, { sequence: 9 }), message(DATA_SET, { sequence: 14 })]),
	);
	await until(() => collector.stats().records === 2);
	t.like(collector.stats(), { unknownTemplateSets: 1, sequenceGaps: 2, missingRecords: 13 });
	socket.destroy();
	await collector.stop();
	t.deepEqual(
		warnings.map(({ code, count }) => [code, count]),
		[
			['ERR_UNKNOWN_TEMPLATE', 1],
			['ERR_SEQUENCE_GAP', 13],
		],
	);
});

test('a flood of nonsense is told at most once a second', async (t) => {
	const { collector, port, warnings } = await listening({ kind: 'udp' });
	const started = performance.now();
	const socket = createSocket('udp4');
	while (collector.stats().malformed < 5_000) {
		for (let sent = 0; sent < 100; sent += 1) socket.send(Buffer.from('x'), port, '127.0.0.1');
		await new Promise((resolve) => setImmediate(resolve));
	}
	await collector.stop();
	const seconds = (performance.now() - started) / 1_000;
	t.true(warnings.length <= seconds + 2, `${warnings.length} in ${seconds} s`);
	t.is(
		warnings.reduce((sum, { count }) => sum + count, 0),
		collector.stats().malformed,
		'and all of it, the rest at the stop',
	);
	socket.close();
});
