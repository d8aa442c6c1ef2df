/** What stops do: the final poll, the state file, what cannot be sent, and signals to the command. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FlowExporter, type FlowRecord } from '../../lib/index.ts';
import { account } from '../support/account.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
	flushKernel,
	kernelFlows,
	sleep,
	track,
	udpEcho,
	unansweredFlows,
	until,
} from '../support/kernel.ts';
import { ReadingCollector } from '../support/reading_collector.ts';
import { report } from '../support/report.ts';

track();
const folder = temporaryFolder('stop');
const collector = await new ReadingCollector().listen();
const { records } = collector;
const options = {
	collectors: [collector.url],
	protocols: ['udp'],
	pollInterval: '1m',
	activeTimeout: '1m',
	idleTimeout: '1m',
};
const udpFlows = () => kernelFlows().filter(({ key }) => key.startsWith('udp'));

// Flows that no poll but the last has seen.
const last = new FlowExporter(options);
await last.start();
await unansweredFlows('127.0.0.1', 200, 10);
await last.stop();
await until('they have arrived', () => records.length >= 200);
const finalPoll = { account: account(udpFlows(), records), reasons: reasonsOf(records) };

// A run, a pause with traffic, and another run: together they tell what the kernel counted.
flushKernel();
records.length = 0;
const stateFile = join(folder, 'state');
const echo = await udpEcho('127.0.0.1');
const { createSocket } = await import('node:dgram');
const talker = createSocket('udp4').bind(0, '127.0.0.1');
await once(talker, 'listening');
async function talk(times: number): Promise<void> {
	for (let number = 0; number < times; number += 1) {
		talker.send(Buffer.alloc(100), echo.port, '127.0.0.1');
		await once(talker, 'message');
	}
}
const runs: number[] = [];
const first = new FlowExporter({ ...options, stateFile });
await first.start();
await talk(3);
await first.stop();
await until('the first run has told', () => records.length >= 1);
runs.push(records.length);
await talk(4);
const second = new FlowExporter({ ...options, stateFile });
await second.start();
await talk(5);
await second.stop();
await until('the second run has told', () => records.length > (runs[0] ?? 0));
runs.push(records.length);
const stateful = { account: account(udpFlows(), records), runs };
talker.close();
echo.close();

// Nobody is there: what is left is counted and said.
flushKernel();
const dead = new FlowExporter({ ...options, collectors: ['tcp://127.0.0.1:1'], gracePeriod: 300 });
const warnings: string[] = [];
dead.on('warning', ({ code, message }) => warnings.push(`${code}: ${message}`));
await dead.start();
await unansweredFlows('127.0.0.1', 150, 20);
const left = udpFlows();
await dead.stop();
const leftAtStop = {
	kernel: {
		records: left.length,
		packets: left.reduce((sum, flow) => sum + flow.packets, 0),
		octets: left.reduce((sum, flow) => sum + flow.octets, 0),
	},
	losses: dead.stats().losses,
	warnings: warnings.filter((text) => text.startsWith('LEFT_AT_STOP')),
};
flushKernel();
await collector.close();

// Signals to the command, whose stop takes as long as the grace period: the collector never reads.
writeFileSync('/proc/sys/net/ipv4/tcp_rmem', '4096 8192 8192');
writeFileSync('/proc/sys/net/ipv4/tcp_wmem', '4096 8192 8192');
const held = new Set<Socket>();
const deaf = createServer({ pauseOnConnect: true }, (socket) => {
	socket.on('error', () => undefined);
	held.add(socket);
}).listen(0, '127.0.0.1');
await once(deaf, 'listening');
const bound = deaf.address();
const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
await unansweredFlows('127.0.0.1', 2_000, 20);
const MAIN = fileURLToPath(new URL('../../lib/cli/main.ts', import.meta.url));

function configured(gracePeriod: string, ...more: string[]): string {
	const config = join(folder, 'run.yaml');
	writeFileSync(
		config,
		[
			...more,
			'pollInterval: 100ms',
			'activeTimeout: 100ms',
			'idleTimeout: 100ms',
			'initialDelta: total',
			`gracePeriod: ${gracePeriod}`,
			'',
		].join('\n'),
	);
	return config;
}

async function command(gracePeriod: string): Promise<{ child: ChildProcess; said: () => string }> {
	const config = configured(gracePeriod, `collectors: [tcp://127.0.0.1:${port}]`);
	const child = spawn(
		process.execPath,
		['--import=tsx', MAIN, 'run', '--config', config, '--log-format', 'json'],
		{ stdio: ['ignore', 'inherit', 'pipe'] },
	);
	let stderr = '';
	child.stderr?.setEncoding('utf8').on('data', (text: string) => {
		stderr += text;
	});
	held.clear();
	await until('it is connected', () => held.size > 0 && stderr.includes('"started"'));
	await sleep(500);
	return { child, said: () => stderr };
}
async function ended({ child }: { child: ChildProcess }): Promise<unknown[]> {
	return child.exitCode === null && child.signalCode === null
		? await once(child, 'close')
		: [child.exitCode, child.signalCode];
}

const impatient = await command('30s');
impatient.child.kill('SIGHUP');
await sleep(200);
const afterHangUp = impatient.child.exitCode;
impatient.child.kill('SIGINT');
await sleep(20);
impatient.child.kill('SIGINT');
await until('it stops', () => impatient.said().includes('"stopping"'));
await sleep(700);
const afterCopies = impatient.child.exitCode;
impatient.child.kill('SIGINT');
const second_ = await ended(impatient);

const patient = await command('500ms');
patient.child.kill('SIGTERM');
const once_ = await ended(patient);
deaf.close();

// Nobody reads the records of a run without a collector: far more of them than a pipe holds.
const unread = spawn(
	process.execPath,
	[
		...['--import=tsx', MAIN, 'run', '--config', configured('500ms'), '--log-format', 'json'],
		...['--log-level', 'debug'],
	],
	{ stdio: ['ignore', 'pipe', 'pipe'] },
);
let unreadSaid = '';
unread.stderr.setEncoding('utf8').on('data', (text: string) => {
	unreadSaid += text;
});
await until('it has exported', () => unreadSaid.includes('"msg":"exported"'));
await sleep(500);
unread.kill('SIGTERM');
const unreadEnd = await once(unread, 'exit');

report({
	finalPoll,
	stateful,
	leftAtStop,
	signals: {
		afterHangUp,
		afterCopies,
		second: second_,
		once: once_,
		unread: unreadEnd,
		unreadSaid: unreadSaid.includes('nobody reads stdout'),
		left: /LEFT_AT_STOP/.test(patient.said()),
	},
});

function reasonsOf(list: readonly FlowRecord[]): unknown[] {
	return [...new Set(list.map((record) => record['flowEndReason']))].sort();
}
