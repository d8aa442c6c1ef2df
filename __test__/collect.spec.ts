import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { printable } from '../lib/cli/stderr.ts';
import { makeAuthority, makeCertificate } from './support/certificates.ts';
import { temporaryFolder } from './support/folder.ts';
import { runProgram } from './support/namespace.ts';
import { DATA_SET, message, TEMPLATE_SET, templateSet } from './support/records.ts';

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const run = (...args: string[]) => runProgram(process.execPath, [MAIN, 'collect', ...args]);

interface Collecting {
	child: ChildProcessByStdio<null, Readable, Readable>;
	port: number;
	/** What it has said since it listens. */
	said(): string;
	/** Once it has said this. */
	says(text: RegExp): Promise<void>;
	ended: Promise<unknown[]>;
}

async function collecting(...args: string[]): Promise<Collecting> {
	const child = spawn(process.execPath, [MAIN, 'collect', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
	let stderr = '';
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		stderr += text;
	});
	const ended = once(child, 'exit');
	const says = async (text: RegExp) => {
		while (!text.test(stderr)) await Promise.race([once(child.stderr, 'data'), once(child.stderr, 'end')]);
	};
	await says(/listening on \S+\n/);
	const port = Number(/:(\d+)\n/.exec(stderr)?.[1]);
	const begin = stderr.length;
	return { child, port, said: () => stderr.slice(begin), says, ended };
}

test('it ends at a signal although nobody reads stdout, and says what that means', async (t) => {
	const { child, port, says, ended } = await collecting('--listen', 'tcp://127.0.0.1:0');
	const socket = connect(port, '127.0.0.1');
	socket.on('error', () => undefined).resume();
	const header = Buffer.from(DATA_SET.subarray(0, 4));
	const records = Array.from({ length: 6_000 }, () => DATA_SET.subarray(header.length));
	const many = Buffer.concat([header, ...records]);
	many.writeUInt16BE(many.length, 2);
	// Read as one: once a part of it is printed, the rest, more than a pipe holds, stands in the way.
	socket.write(Buffer.concat([message(TEMPLATE_SET), message(many)]));
	await once(child.stdout, 'readable');
	child.kill('SIGTERM');
	await says(/nobody reads stdout: records that were not printed yet are given up\n/);
	t.deepEqual(await ended, [0, null]);
	socket.destroy();
	child.stdout.destroy();
});

test('strangers cannot fill stderr, and the end says what there was in all', async (t) => {
	const { child, port, said, says, ended } = await collecting('--listen', 'udp://127.0.0.1:0');
	const started = performance.now();
	const socket = createSocket('udp4');
	let flooding = true;
	const flood = async () => {
		while (flooding) {
			for (let sent = 0; sent < 50; sent += 1) socket.send(Buffer.from('x'), port, '127.0.0.1');
			await new Promise((resolve) => setImmediate(resolve));
		}
	};
	const flooded = flood();
	await says(/\n\d+ messages could not be read; the last: datagram of 127\.0\.0\.1:\d+: .*\n/);
	flooding = false;
	await flooded;
	child.kill('SIGTERM');
	t.deepEqual(await ended, [0, null]);
	const seconds = (performance.now() - started) / 1_000;
	await says(/in all: /);
	const lines = said().trim().split('\n');
	t.regex(lines.at(-1) ?? '', /^in all: \d{2,} messages that could not be read$/);
	t.true(lines.length <= seconds + 3, said());
	socket.close();
});

test('templates of many strangers take no more memory than they may together', async (t) => {
	const { child, port, ended } = await collecting('--listen', 'tcp://127.0.0.1:0');
	const fields = Array.from({ length: 1_000 }, () => [228, 1] as const);
	const templates = Buffer.concat(
		Array.from({ length: 32 }, (_, number) => message(templateSet(fields, 256 + number))),
	);
	// Half a message is kept, too, until its rest comes.
	const half = message(Buffer.alloc(60_000)).subarray(0, 60_000);
	let closed = 0;
	const strangers = await Promise.all(
		Array.from({ length: 250 }, async () => {
			const socket = connect(port, '127.0.0.1');
			socket.on('error', () => undefined).resume();
			socket.once('close', () => (closed += 1));
			socket.write(templates);
			await new Promise((resolve) => socket.write(half, resolve));
			return socket;
		}),
	);
	// About 2.5 MB each: 25 at most can stay within 64 MiB.
	while (closed < 220) await new Promise((resolve) => setTimeout(resolve, 20));
	const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
	const megabytes = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024;
	t.true(megabytes < 350, `${megabytes} MB`);
	for (const socket of strangers) socket.destroy();
	child.kill('SIGTERM');
	await ended;
});

test('SIGHUP renews the certificates', async (t) => {
	const folder = temporaryFolder('collect');
	const authority = makeAuthority('collect');
	const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
	const write = () => {
		const certified = makeCertificate(authority, 'collector.example');
		writeFileSync(cert, certified.cert);
		writeFileSync(key, certified.key);
	};
	write();
	const { child, port, ended } = await collecting(
		...['--listen', 'tls://127.0.0.1:0', '--tls-cert', cert, '--tls-key', key],
	);
	const serial = async () => {
		const socket = connectTls({
			...{ port, host: '127.0.0.1', servername: 'collector.example', ca: authority.cert },
		});
		await once(socket, 'secureConnect');
		const { serialNumber } = socket.getPeerCertificate();
		socket.destroy();
		return serialNumber;
	};
	const before = await serial();
	write();
	t.is(await serial(), before);
	child.kill('SIGHUP');
	while ((await serial()) === before);
	child.kill('SIGTERM');
	t.deepEqual(await ended, [0, null]);
});

test('an option that cannot be used is called as the flag that it was given by', async (t) => {
	const { child, port, ended } = await collecting('--listen', 'tcp://127.0.0.1:0');
	const address = `tcp://127.0.0.1:${port}`;
	for (const [args, code, said] of [
		[['--listen', address], 1, `--listen[0] ${address}: cannot listen: the address is in use`],
		[['--read', '/nowhere/file'], 1, '--read[0]: /nowhere/file: cannot be read: no such file'],
		[['--listen', 'http://a'], 2, '--listen[0]: got "http://a", expected tcp://HOST'],
		[['--listen', 'tcp://a', '--tls-ca', 'a.pem'], 2, '--tls-ca: got "a.pem", expected a tls:// address'],
		[['--listen', 'tcp://a', '--idle-timeout', '5'], 2, '--idle-timeout: got "5", expected a duration'],
		[[], 2, '--listen: got nothing, expected an address to listen on, or files to read'],
	] as const) {
		const result = await run(...args);
		t.is(result.code, code, args.join(' '));
		t.true(result.stderr.includes(`conntrack-ipfix: ${said}`), result.stderr);
	}
	child.kill('SIGTERM');
	await ended;
});

test('large integers are printed with all digits as text where asked', async (t) => {
	const file = join(temporaryFolder('collect'), 'large');
	const template = Buffer.from('0002000c0100000100010008', 'hex');
	const data = Buffer.from('0100000cffffffffffffffff', 'hex');
	writeFileSync(file, Buffer.concat([message(template), message(data)]));
	const { stdout } = await run('--read', file, '--large-numbers', 'text');
	t.true(stdout.startsWith('{"octetDeltaCount":"18446744073709551615",'), stdout);
});

test('what a terminal would obey is shown on stderr instead', (t) => {
	t.is(printable('a\tb\n\u001b[2J\u009b1m\r\u007f\u202e'), 'a\tb\n\\u001b[2J\\u009b1m\\u000d\\u007f\\u202e');
	t.is(printable('größe 👩‍👧'), 'größe 👩‍👧');
});

test('it ends at a signal although a pipe that it reads has no writer', async (t) => {
	const fifo = join(temporaryFolder('collect'), 'fifo');
	execFileSync('mkfifo', [fifo]);
	const { child, ended } = await collecting('--listen', 'tcp://127.0.0.1:0', '--read', fifo);
	child.kill('SIGTERM');
	t.deepEqual(await ended, [0, null]);
});

test('it ends at a signal although its certificate cannot be read yet', async (t) => {
	const fifo = join(temporaryFolder('collect'), 'fifo');
	execFileSync('mkfifo', [fifo]);
	const args = ['--listen', 'tls://127.0.0.1:0', '--tls-cert', fifo, '--tls-key', fifo];
	const child = spawn(process.execPath, [MAIN, 'collect', ...args], { stdio: 'ignore' });
	const ended = once(child, 'exit');
	// Opened once it has begun to read.
	const writer = await open(fifo, 'w');
	child.kill('SIGTERM');
	t.deepEqual(await ended, [0, null]);
	await writer.close();
});
