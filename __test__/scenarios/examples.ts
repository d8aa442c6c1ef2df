/** The examples, copied to a project that has the package installed: the agent sends, the collector prints. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../support/folder.ts';
import { track, udpEcho, udpExchange, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = temporaryFolder('examples');
cpSync(join(root, 'examples'), folder, { recursive: true });
mkdirSync(join(folder, 'node_modules'));
symlinkSync(root, join(folder, 'node_modules/conntrack-ipfix'));

function start(example: string, ...args: string[]): { child: ChildProcess; printed: () => string } {
	const child = spawn(process.execPath, [example, ...args], {
		cwd: folder,
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	let text = '';
	child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
		text += chunk;
	});
	return { child, printed: () => text };
}

async function end(child: ChildProcess): Promise<unknown> {
	child.kill('SIGTERM');
	return (await once(child, 'exit'))[0];
}

track();
const collector = start('collector.mjs', 'tcp://127.0.0.1:0');
await until('the collector listens', () => collector.printed().includes('listening on '));
const [, url = ''] = /listening on (\S+)/.exec(collector.printed()) ?? [];
const agent = start('agent.mjs', url);
await until(
	'the agent is connected',
	() => /^connected/m.test(agent.printed()) && /^started/m.test(agent.printed()),
);
const echo = await udpEcho('127.0.0.1');
await udpExchange('127.0.0.1', echo.port, 3, 100);
await until('a poll has seen it', () => /^poll: [1-9]/m.test(agent.printed()));
const agentCode = await end(agent.child);
await until('the record is printed', () => collector.printed().includes('octets'));
const collectorCode = await end(collector.child);
report({
	codes: [agentCode, collectorCode],
	records: collector
		.printed()
		.split('\n')
		.filter((line) => line.includes(' octets')),
});
