import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import test from 'ava';
import { Collector, type CollectorOptions, type CollectorWarning } from '../lib/index.ts';
import { makeAuthority, makeCertificate } from './support/certificates.ts';
import { temporaryFolder } from './support/folder.ts';
import { DATA_SET, message, TEMPLATE_SET } from './support/records.ts';

const authority = makeAuthority('collector');
const own = makeCertificate(authority, 'collector.example');
const exporter = makeCertificate(authority, 'exporter');

async function listening(options: Partial<CollectorOptions> = {}) {
	const collector = new Collector({
		listen: ['tls://127.0.0.1:0'],
		...own,
		ca: authority.cert,
		...options,
	});
	const warnings: CollectorWarning[] = [];
	collector.on('warning', (warning) => warnings.push(warning));
	await collector.start();
	return { collector, port: portOf(collector), warnings };
}

const portOf = (collector: Collector) => Number(collector.addresses[0]?.split(':').at(-1));
const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));

async function silent(port: number): Promise<Socket> {
	const socket = connect(port, '127.0.0.1');
	socket.on('error', () => undefined).resume();
	await once(socket, 'connect');
	return socket;
}

function secure(port: number, certificate = exporter): TLSSocket {
	const socket = connectTls({
		...{ port, host: '127.0.0.1', servername: 'collector.example' },
		...{ ca: authority.cert, ...certificate },
	});
	socket.on('error', () => undefined).resume();
	return socket;
}

async function until(holds: () => boolean): Promise<void> {
	while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test('unfinished handshakes are bounded like sessions, and hold nobody up', async (t) => {
	const { collector, port } = await listening({ maxSessions: 3 });
	const first = await silent(port);
	const gone = closed(first);
	const others = await Promise.all(Array.from({ length: 20 }, () => silent(port)));
	await gone;
	await until(() => collector.stats().displacedSessions === 18);
	t.like(collector.stats(), { sessions: 0, handshakes: 3 });
	const socket = secure(port);
	socket.write(Buffer.concat([message(TEMPLATE_SET), message(DATA_SET)]));
	for await (const records of collector) {
		t.is(records.length, 1);
		break;
	}
	t.like(collector.stats(), { sessions: 1, handshakes: 2 });
	// With handshakes under way.
	await collector.stop();
	t.like(collector.stats(), { sessions: 0, handshakes: 0 });
	await Promise.all([first, ...others, socket].map((each) => each.destroyed || closed(each)));
	t.pass();
});

test('a reset is told as one over TLS, too, and what it cut off', async (t) => {
	const { collector, port } = await listening();
	const links: Socket[] = [];
	const between = createServer((near) => {
		const far = connect(port, '127.0.0.1');
		links.push(far);
		for (const socket of [near, far]) socket.on('error', () => undefined);
		near.pipe(far).pipe(near);
	}).listen(0, '127.0.0.1');
	await once(between, 'listening');
	for (const [octets, error] of [
		[
			Buffer.concat([message(TEMPLATE_SET), message(DATA_SET).subarray(0, 20)]),
			/^reset by the exporter: ended 20 oct/,
		],
		[message(TEMPLATE_SET), /^reset by the exporter$/],
	] as const) {
		const ended = once(collector, 'disconnect');
		const socket = secure((between.address() as AddressInfo).port);
		socket.write(octets);
		await until(() => collector.stats().templateBytes > 0);
		links.pop()?.resetAndDestroy();
		const [{ error: told, code }] = await ended;
		t.regex(told, error);
		t.is(code, 'ECONNRESET');
		await until(() => collector.stats().templateBytes === 0);
		socket.destroy();
	}
	t.like(collector.stats(), { brokenSessions: 2, malformed: 1 });
	between.close();
	await collector.stop();
});

test('a handshake that takes too long is ended and counted', async (t) => {
	const { collector, port, warnings } = await listening({ handshakeTimeout: 50 });
	await closed(await silent(port));
	await until(() => collector.stats().handshakes === 0);
	t.like(collector.stats(), { sessions: 0, handshakes: 0, failedHandshakes: 1 });
	t.regex(
		warnings[0]?.message ?? '',
		/^a TLS handshake failed; the last: 127\.0\.0\.1:\d+: not done within 0\.05 s$/,
	);
	await collector.stop();
});

test('a handshake that fails is counted with its reason, and nothing of it stays', async (t) => {
	const { collector, port, warnings } = await listening();
	const stranger = makeCertificate(makeAuthority('stranger'), 'stranger');
	for (const attempt of [
		() => secure(port, { cert: undefined, key: undefined } as unknown as typeof exporter),
		() => secure(port, stranger),
		() => {
			const socket = connect(port, '127.0.0.1');
			socket.on('error', () => undefined).resume();
			socket.write('GET / HTTP/1.1\r\n\r\n');
			return socket;
		},
		() => {
			const socket = connect(port, '127.0.0.1');
			socket.on('error', () => undefined).resume();
			socket.write(Buffer.of(22, 3, 1), () => socket.resetAndDestroy());
			return socket;
		},
	]) {
		const before = collector.stats().failedHandshakes;
		const socket = attempt();
		await closed(socket);
		await until(() => collector.stats().failedHandshakes === before + 1);
	}
	await until(() => collector.stats().handshakes === 0);
	t.like(collector.stats(), { sessions: 0, acceptedSessions: 0, brokenSessions: 0 });
	await collector.stop();
	t.deepEqual([...new Set(warnings.map(({ code }) => code))], ['ERR_HANDSHAKE']);
	t.true(warnings.every(({ message }) => !/\p{Cc}/u.test(message)));
});

test('renewed certificates are used by new connections, unusable ones by nobody', async (t) => {
	const folder = temporaryFolder('collector');
	const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
	const write = (certified: typeof own) => {
		writeFileSync(cert, certified.cert);
		writeFileSync(key, certified.key);
	};
	write(own);
	const { collector, port, warnings } = await listening({ cert, key });
	const serialOf = async () => {
		const socket = secure(port);
		await once(socket, 'secureConnect');
		const { serialNumber } = socket.getPeerCertificate();
		return { socket, serialNumber };
	};
	const before = await serialOf();
	const renewed = makeCertificate(authority, 'collector.example');
	write(renewed);
	await collector.renewCertificates();
	const after = await serialOf();
	t.not(after.serialNumber, before.serialNumber);
	t.false(before.socket.destroyed, 'a connection that stands stays');
	writeFileSync(key, own.key);
	await collector.renewCertificates();
	t.is((await serialOf()).serialNumber, after.serialNumber);
	t.like(warnings, [{ code: 'ERR_TLS', count: 1 }]);
	t.regex(warnings[0]?.message ?? '', /key\.pem: this key does not belong to the certificate in/);
	await collector.stop();
});

test('certificates that cannot be used are an error of the start, with the file that is wrong', async (t) => {
	const folder = temporaryFolder('collector');
	const start = (options: Partial<CollectorOptions>) =>
		new Collector({ listen: ['tls://127.0.0.1:0'], ...own, ...options }).start();
	const missing = join(folder, 'missing.pem');
	await t.throwsAsync(start({ cert: missing }), {
		code: 'ERR_TLS',
		message: `cert: ${missing}: no such file`,
	});
	const text = join(folder, 'text.pem');
	writeFileSync(text, 'text');
	await t.throwsAsync(start({ ca: text }), { code: 'ERR_TLS', message: `ca: ${text}: no certificate in it` });
	await t.throwsAsync(start({ ca: '/' }), { code: 'ERR_TLS', message: 'ca: /: it is a folder' });
	const swapped = join(folder, 'swapped.pem');
	writeFileSync(swapped, own.key);
	await t.throwsAsync(start({ ca: swapped }), {
		code: 'ERR_TLS',
		message: new RegExp(`^ca: ${swapped}: no certificate in it`),
	});
});
