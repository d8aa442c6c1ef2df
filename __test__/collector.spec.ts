import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import test from 'ava';
import { Collector, type CollectorOptions, type FlowRecord } from '../lib/index.ts';
import { temporaryFolder } from './support/folder.ts';
import { DATA_SET, message, TEMPLATE_SET, templateSet } from './support/records.ts';

const TEMPLATE = message(TEMPLATE_SET);
const DATA = message(DATA_SET);
/** What the record of DATA_SET says, by hand, and who sent it; 0x60000000 is 2021-01-14T08:25:36Z. */
const recordOf = (port: number | undefined) => ({
	sourceIPv4Address: '192.0.2.7',
	destinationTransportPort: 443,
	octetDeltaCount: 1500,
	message: {
		exportTime: '2021-01-14T08:25:36.000Z',
		observationDomainId: 1,
		sequenceNumber: 0,
		templateId: 256,
		peer: `127.0.0.1:${port}`,
	},
});

async function listening(options: Partial<CollectorOptions> & { kind?: string } = {}) {
	const { kind = 'tcp', ...rest } = options;
	const collector = new Collector({ listen: [`${kind}://127.0.0.1:0`], ...rest });
	await collector.start();
	const port = Number(collector.addresses[0]?.split(':').at(-1));
	return { collector, port };
}

async function read(collector: Collector, count: number): Promise<FlowRecord[]> {
	const records: FlowRecord[] = [];
	for await (const batch of collector) {
		records.push(...batch);
		if (records.length >= count) break;
	}
	return records;
}

test('a record comes out as the message says, whatever the stream’s chunks', async (t) => {
	const { collector, port } = await listening();
	const socket = connect(port, '127.0.0.1').setNoDelay();
	for (const octet of Buffer.concat([TEMPLATE, DATA])) {
		socket.write(Buffer.of(octet));
		await new Promise((resolve) => setImmediate(resolve));
	}
	t.deepEqual(await read(collector, 1), [recordOf(socket.localPort)]);
	socket.destroy();
	await collector.stop();
});

test('a malformed message closes the stream’s session with its reason; what came before it is kept', async (t) => {
	const { collector, port } = await listening();
	const ended = once(collector, 'disconnect');
	const socket = connect(port, '127.0.0.1');
	socket.on('error', () => undefined).resume();
	socket.write(Buffer.concat([TEMPLATE, DATA, message(DATA_SET, { version: 9 }), DATA]));
	await once(socket, 'close');
	const [{ error, transport }] = await ended;
	t.regex(error, /version/i);
	t.is(transport, 'tcp');
	t.is(collector.stats().records, 1);
	t.is(collector.stats().sessions, 0);
	await collector.stop();
});

test('another session goes on when one is closed', async (t) => {
	const { collector, port } = await listening();
	const good = connect(port, '127.0.0.1');
	good.write(TEMPLATE);
	const bad = connect(port, '127.0.0.1');
	bad.on('error', () => undefined).resume();
	bad.write('GET / HTTP/1.1\r\n\r\n');
	await once(bad, 'close');
	good.write(DATA);
	t.is((await read(collector, 1)).length, 1);
	good.destroy();
	await collector.stop();
});

test('a malformed datagram is skipped and counted, the session stays', async (t) => {
	const { collector, port } = await listening({ kind: 'udp' });
	const malformed = once(collector, 'malformed');
	const socket = createSocket('udp4');
	for (const datagram of [TEMPLATE, Buffer.from('nonsense'), DATA]) {
		await new Promise((resolve) => socket.send(datagram, port, '127.0.0.1', resolve));
	}
	t.deepEqual(await read(collector, 1), [recordOf(socket.address().port)]);
	t.is(typeof (await malformed)[0].error, 'string');
	t.is(collector.stats().malformed, 1);
	socket.close();
	await collector.stop();
});

test('templates belong to their session', async (t) => {
	const { collector, port } = await listening();
	const first = connect(port, '127.0.0.1');
	first.end(TEMPLATE);
	await once(first, 'close');
	const second = connect(port, '127.0.0.1');
	second.end(Buffer.concat([DATA, TEMPLATE, message(DATA_SET, { sequence: 7 })]));
	const [record] = await read(collector, 1);
	t.like(
		record,
		{ message: { sequenceNumber: 7 } },
		'the data before this session’s template is not read with another’s',
	);
	await collector.stop();
});

test('a reader that does not read holds the senders back, not the memory', async (t) => {
	const { collector, port } = await listening({ maxQueuedBytes: 10_000 });
	const socket = connect(port, '127.0.0.1');
	socket.on('error', () => undefined);
	socket.write(TEMPLATE);
	const many = Buffer.concat(Array.from({ length: 2_000 }, (_, sequence) => message(DATA_SET, { sequence })));
	for (let round = 0; round < 200; round += 1) socket.write(many);
	while (collector.stats().queuedBytes < 10_000) await new Promise((resolve) => setImmediate(resolve));
	// Turns enough to read all that waits in the kernel, if it were read.
	for (let turn = 0; turn < 1_000; turn += 1) await new Promise((resolve) => setImmediate(resolve));
	const { queuedBytes, records } = collector.stats();
	// One chunk of a socket, 64 KiB, may be decoded after the queue is full: about 2,200 records of 210 octets.
	t.true(queuedBytes >= 10_000 && queuedBytes < 1_000_000, String(queuedBytes));
	t.true(records < 400_000);
	const before = records;
	t.true((await read(collector, before + 1)).length > before, 'it goes on when somebody reads');
	socket.destroy();
	await collector.stop();
});

test('files are read to their end, and one that is cut ends the iteration with an error', async (t) => {
	const folder = temporaryFolder('collector');
	const [whole, cut] = [join(folder, 'whole'), join(folder, 'cut')];
	await writeFile(whole, Buffer.concat([TEMPLATE, DATA, DATA]));
	await writeFile(cut, Buffer.concat([TEMPLATE, DATA, DATA.subarray(0, 20)]));
	const collector = new Collector({ files: [cut, whole] });
	const errors: Array<string | null> = [];
	collector.on('disconnect', ({ error }) => errors.push(error));
	const peers: string[] = [];
	const reading = async () => {
		for await (const batch of collector) peers.push(...batch.map(({ message }) => message.peer));
	};
	const error = await t.throwsAsync(reading(), { code: 'ERR_MALFORMED' });
	t.is(error?.message, `${cut}: ended 20 octets into a message`);
	t.deepEqual(peers, [cut, whole, whole]);
	t.deepEqual(errors, ['ended 20 octets into a message', null]);
	t.is(collector.stats().malformed, 1);
});

test('a file that is not there, or is none, is an error of the start with its code', async (t) => {
	const folder = temporaryFolder('collector');
	const missing = join(folder, 'missing');
	await t.throwsAsync(new Collector({ files: [missing] }).start(), {
		code: 'ENOENT',
		message: `files[0]: ${missing}: cannot be read: no such file`,
	});
	await t.throwsAsync(new Collector({ files: ['/dev/null', folder] }).start(), { code: 'EISDIR' });
	await t.throwsAsync(new Collector({ files: ['no\0path'] }).start(), { code: 'ERR_INVALID_ARG_VALUE' });
	// Nor is it lost on whoever does not wait for the start.
	const iterated = new Collector({ files: [missing] });
	await t.throwsAsync(read(iterated, 1), { code: 'ENOENT' });
	await t.throwsAsync(read(iterated, 1), { code: 'ENOENT' }, 'nor on whoever asks again');
});

test('a port in use is an error of the start with its code, and nothing stays bound', async (t) => {
	for (const kind of ['tcp', 'udp']) {
		const { collector, port } = await listening({ kind });
		const address = `${kind}://127.0.0.1:${port}`;
		const other = new Collector({ listen: ['tcp://127.0.0.1:0', address] });
		await t.throwsAsync(other.start(), {
			code: 'EADDRINUSE',
			message: `listen[1] ${address}: cannot listen: the address is in use`,
		});
		t.deepEqual(other.addresses, []);
		t.is(other.stats().state, 'stopped');
		await collector.stop();
		await other.start();
		t.is(other.addresses.length, 2, 'it can be started when the port is free');
		await other.stop();
	}
});

test('it stops, starts again, and ends by its signal', async (t) => {
	const abort = new AbortController();
	const { collector, port } = await listening({ signal: abort.signal });
	const socket = connect(port, '127.0.0.1');
	socket.on('error', () => undefined).resume();
	socket.write(Buffer.concat([TEMPLATE, DATA]));
	await once(collector, 'connect');
	while (collector.stats().records === 0) await new Promise((resolve) => setImmediate(resolve));
	await collector.stop();
	await once(socket, 'close');
	t.like(collector.stats(), { state: 'stopped', sessions: 0 });
	t.is((await read(collector, 1)).length, 1, 'what was decoded can still be read');
	await collector.start();
	t.is(collector.stats().state, 'running');
	const ended = (async () => {
		for await (const _ of collector);
	})();
	abort.abort();
	await ended;
	await collector.stop();
	t.is(collector.stats().state, 'stopped');
	await t.throwsAsync(collector.start(), { any: true, name: 'AbortError' });
});

test('a stop while it starts rejects the start, and nothing stays bound', async (t) => {
	const { collector: other, port } = await listening();
	await other.stop();
	const address = `tcp://127.0.0.1:${port}`;
	const collector = new Collector({ listen: ['udp://127.0.0.1:0', address] });
	const starting = t.throwsAsync(collector.start(), { code: 'ERR_STOPPED' });
	await collector.stop();
	await starting;
	t.deepEqual(collector.addresses, []);
	const next = new Collector({ listen: [address] });
	await next.start();
	await next.stop();
});

test('large integers can keep their digits', async (t) => {
	const folder = temporaryFolder('collector');
	const file = join(folder, 'large');
	const octets = Buffer.from('0100000cffffffffffffffff', 'hex');
	await writeFile(file, Buffer.concat([message(templateSet([[1, 8]])), message(octets)]));
	const [rounded] = await read(new Collector({ files: [file] }), 1);
	t.is(rounded?.['octetDeltaCount'], 2 ** 64);
	const [exact] = await read(new Collector({ files: [file], largeNumbers: 'text' }), 1);
	t.is(String(exact?.['octetDeltaCount']), '18446744073709551615');
});
