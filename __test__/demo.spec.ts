import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { FlowRecord } from '../lib/index.ts';
import { runProgram } from './support/namespace.ts';

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const parse = (text: string) =>
	text
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line) as FlowRecord);

test('demo --count 5 prints five records and ends with 0', async (t) => {
	const { code, stdout, stderr } = await runProgram(process.execPath, [MAIN, 'demo', '--count', '5']);
	t.is(code, 0, stderr);
	const records = parse(stdout);
	t.is(records.length, 5);
	for (const record of records) {
		t.true([6, 17].includes(Number(record['protocolIdentifier'])));
		t.true(Number(record['octetTotalCount']) > 0);
		t.like(record, { message: { observationDomainId: 1 } });
	}
});

test('demo shows TCP and UDP, IPv4 and IPv6, and at Ctrl-C exports what remains and ends with 0', async (t) => {
	const child = spawn(process.execPath, [MAIN, 'demo'], {
		stdio: ['ignore', 'pipe', 'pipe'],
		detached: true,
	});
	let stdout = '';
	let stderr = '';
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		stderr += text;
	});
	child.stdout.setEncoding('utf8').on('data', (text: string) => {
		stdout += text;
	});
	while (stdout.split('\n').length < 30) await once(child.stdout, 'data');
	// As a terminal does: every process of the group gets it.
	process.kill(-(child.pid ?? 0), 'SIGINT');
	const [code] = await once(child, 'close');
	t.is(code, 0, stderr);
	const records = parse(stdout);
	const kinds = new Set(
		records.map((record) => `${record['protocolIdentifier']} ${'sourceIPv4Address' in record ? 4 : 6}`),
	);
	t.deepEqual([...kinds].sort(), ['17 4', '17 6', '6 4', '6 6']);
	const reasons = new Set(records.map((record) => record['flowEndReason']));
	t.true(reasons.has(3), 'closed connections end at once');
	t.true(reasons.has(4), 'what was unexported at the stop came with reason 4');
});
