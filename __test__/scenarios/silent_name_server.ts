/** A name server that never answers: whose name is known goes on, and everything ends all the same. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FlowExporter } from '../../lib/index.ts';
import { account } from '../support/account.ts';
import { temporaryFolder } from '../support/folder.ts';
import { kernelFlows, run, seen, sleep, track, unansweredFlows, until } from '../support/kernel.ts';
import { ReadingCollector } from '../support/reading_collector.ts';

const NAME_SERVER = '127.0.0.9';

track();
run('nft', 'add table inet mute');
run('nft', 'add chain inet mute in { type filter hook input priority 0; }');
run('nft', 'add rule inet mute in udp dport 53 drop');
const folder = temporaryFolder('names');
function instead(path: string, text: string): void {
	const file = join(folder, path.replaceAll('/', '_'));
	writeFileSync(file, text);
	run('mount', '--bind', file, path);
}
// Longer than any test may take.
instead('/etc/resolv.conf', `nameserver ${NAME_SERVER}\noptions timeout:30 attempts:5\n`);
instead('/etc/hosts', '127.0.0.1 localhost known.example\n');

const collector = await new ReadingCollector().listen();
const silent = [
	'tcp://a.example',
	'tcp://b.example',
	'tls://c.example',
	'udp://d.example',
	'tcp://e.example',
];
const quick = { connectTimeout: 50, reconnect: { initial: 10, max: 20 } };
const exporter = new FlowExporter({
	collectors: [...silent, `tcp://known.example:${collector.port}`].map((url) => ({ url, ...quick })),
	protocols: ['udp'],
	exclude: [NAME_SERVER],
	pollInterval: 100,
	activeTimeout: 100,
	idleTimeout: 100,
});
const reasons = new Map<string, string[]>(silent.map((url) => [new URL(url).hostname, []]));
exporter.on('disconnect', ({ collector, reason }) => {
	reasons.get(new URL(collector).hostname)?.push(reason);
});
await exporter.start();
await until('each silent name was asked for again and again', () =>
	[...reasons.values()].every(({ length }) => length >= 8),
);
await unansweredFlows('127.0.0.1', 100, 10, '127.0.0.1');
await seen(exporter);
const kernel = kernelFlows().filter(({ key }) => key.startsWith('udp') && !key.includes(NAME_SERVER));
await until('the known one has them', () => account(kernel, collector.records).missing.flows === 0);
const asking = readdirSync('/proc/self/task').filter(
	(thread) => readFileSync(`/proc/self/task/${thread}/comm`, 'utf8').trim() === 'conntrack-dns',
).length;
await exporter.stop();
await collector.close();

// The command: ends when the grace period is over, and at once at a second signal, whatever hangs.
const MAIN = fileURLToPath(new URL('../../lib/cli/main.ts', import.meta.url));
const HUNG = fileURLToPath(new URL('../support/hung_pool.ts', import.meta.url));
async function command(gracePeriod: string) {
	const config = join(folder, 'run.yaml');
	writeFileSync(config, `collectors: [tcp://a.example, udp://b.example]\ngracePeriod: ${gracePeriod}\n`);
	const child = spawn(
		process.execPath,
		['--import=tsx', `--import=${HUNG}`, MAIN, 'run', '--config', config, '--log-format', 'json'],
		{ stdio: ['ignore', 'ignore', 'pipe'] },
	);
	let said = '';
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		said += text;
	});
	await until('it runs', () => said.includes('"started"'));
	return { child, ended: once(child, 'exit'), stopping: () => said.includes('"stopping"') };
}
/** Whether the process has asked the name server. */
function asks(pid: number | undefined): boolean {
	const questions = readFileSync('/proc/net/udp', 'utf8')
		.split('\n')
		.filter((line) => line.includes(' 0900007F:0035 '))
		.map((line) => `socket:[${line.trim().split(/\s+/)[9]}]`);
	return readdirSync(`/proc/${pid}/fd`).some((fd) => {
		try {
			return questions.includes(readlinkSync(`/proc/${pid}/fd/${fd}`));
		} catch {
			return false;
		}
	});
}
// Whoever is to listen on a name ends as well while it asks for its address.
const commands = [
	['collect', '--listen', 'tcp://f.example:0'],
	['collect', '--listen', 'udp://g.example:0'],
	['run', '--collector', 'tcp://127.0.0.1:9', '--metrics', 'h.example:9999', '--log-level', 'error'],
];
const listeners = await Promise.all(
	commands.map(async (args) => {
		const child = spawn(process.execPath, ['--import=tsx', MAIN, ...args], {
			stdio: ['ignore', 'ignore', 'inherit'],
		});
		const ended = once(child, 'exit');
		await until('it asks', () => asks(child.pid));
		child.kill('SIGTERM');
		return ended;
	}),
);
const once_ = await command('200ms');
once_.child.kill('SIGTERM');
const afterOne = await once_.ended;
const twice = await command('1h');
twice.child.kill('SIGTERM');
await until('it stops', twice.stopping);
// Copies within half a second are one.
await sleep(600);
twice.child.kill('SIGTERM');
const afterTwo = await twice.ended;

console.log(
	JSON.stringify({
		reasons: [...reasons].map(([name, texts]) => [name, [...new Set(texts.slice(0, 8))]]),
		asking,
		account: account(kernel, collector.records),
		afterOne,
		afterTwo,
		listeners,
	}),
);
// No process.exit: the look-ups that are still open must not keep the process alive.
