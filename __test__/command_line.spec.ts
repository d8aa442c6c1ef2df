import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { temporaryFolder } from './support/folder.ts';
import { namespaced, runProgram } from './support/namespace.ts';
import { DATA_SET, message, TEMPLATE_SET } from './support/records.ts';

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const run = (...args: string[]) => runProgram(process.execPath, [MAIN, ...args]);

test('help and version are no errors', async (t) => {
	t.is((await run('--help')).code, 0);
	t.is((await run('run', '--help')).code, 0);
	const { code, stdout } = await run('--version');
	t.deepEqual([code, stdout], [0, '0.1.0\n']);
});

test('a missing native addon is said in a line, by each command that needs it', async (t) => {
	const missing = { NAPI_RS_NATIVE_LIBRARY_PATH: '/nowhere' };
	for (const args of [
		['dump'],
		['run', '--collector', 'tcp://127.0.0.1:9'],
		['collect', '--listen', 'tcp://127.0.0.1:0'],
		['collect', '--read', '/dev/null'],
	]) {
		const { code, stderr } = await runProgram(process.execPath, [MAIN, ...args], missing);
		t.is(code, 1, args.join(' '));
		t.regex(stderr.trimEnd().split('\n').at(-1) ?? '', /^conntrack-ipfix: the native addon for linux-/);
		t.notRegex(stderr, /^ {4}at /m, 'no stack');
	}
});

test('wrong usage and wrong options end with 2 and say what is wrong', async (t) => {
	const cases: Array<[string[], RegExp]> = [
		[['fly'], /unknown command 'fly'/],
		[['run', '--colector', 'tcp://x'], /unknown option '--colector'/],
		[['run', '--poll-interval', '5'], /--poll-interval: got "5", expected a duration/],
		[['run', '--collector', 'http://x'], /--collector\[0\].url: got "http:\/\/x", expected tcp:/],
		[['run', '--tls-ca', 'ca.pem'], /--tls-ca: got "ca.pem", expected a tls:\/\/ collector/],
		[['run', '--zone', '1,70000'], /--zone\[1\]: got 70000, expected a whole number from 0 to 65535/],
		[['run', '--config', '/nowhere.yaml'], /configuration file \/nowhere.yaml: ENOENT/],
		[
			['run', '--state-file', '/nowhere/state'],
			/state file \/nowhere\/state .*there is no folder \/nowhere$/m,
		],
		[['run', '--fields', 'noSuchElement', '--collector', 'tcp://127.0.0.1:9'], /noSuchElement/],
		[['collect'], /listen: got \[\], expected an address to listen on/],
		[['collect', '--listen', 'tcp://127.0.0.1:0', '--count', '0'], /whole number above zero/],
		[['dump', '--format', 'xml'], /Allowed choices are json, table/],
		[['dump', '--protocol', ','], /--protocol: got \[\], expected at least one protocol/],
		[['run', '--family', ','], /--family: got \[\], expected at least one of ipv4 and ipv6/],
		[['dump', '--protocol', 'quic'], /--protocol\[0\]: got "quic", expected a protocol/],
	];
	for (const [args, complaint] of cases) {
		// In a namespace: a case that wrongly starts would need permission first.
		const [command, inside] = namespaced(MAIN, ...args);
		const { code, stderr } = await runProgram(command, inside);
		t.is(code, 2, args.join(' '));
		t.regex(stderr, complaint);
	}
});

test('a variable of the environment that is no option is said at the start', async (t) => {
	const environment = { CONNTRACK_IPFIX_ZONES: '7', CONNTRACK_IPFIX_SERVICE_HOST: '10.0.0.1' };
	const [command, inside] = namespaced(MAIN, 'run', '--state-file', '/nowhere/state');
	const { stderr } = await runProgram(command, inside, environment);
	t.regex(stderr, /"level":"warn".*"variable":"CONNTRACK_IPFIX_ZONES".*is no option and has no effect/);
	t.notRegex(stderr, /SERVICE_HOST/);
});

test('a missing permission ends with 1 and says how to get it', async (t) => {
	// A new user namespace has no right over the network namespace that it came from.
	for (const command of ['dump', 'run']) {
		const { code, stderr } = await runProgram('unshare', [
			'-Ur',
			process.execPath,
			'--import=tsx',
			MAIN,
			command,
		]);
		t.is(code, 1, command);
		for (const hint of ['CAP_NET_ADMIN', 'unshare -Urn', 'AmbientCapabilities', 'setpriv'])
			t.true(stderr.includes(hint), hint);
	}
});

test('the configuration file has its own names, and --print-config prints one that says the same', async (t) => {
	const folder = temporaryFolder('config');
	const file = join(folder, 'agent.yaml');
	await writeFile(
		file,
		'pollInterval: 2s\nzones: [7]\ncollectors:\n  - url: tcp://a\n    stallTimeout: 90s\n' +
			'  - tls://a\n  - udp://a\n  - file:/nowhere/a\ntlsCa: ca.pem\n',
	);
	const first = await run('run', '--config', file, '--idle-timeout', '1m', '--print-config');
	t.is(first.code, 0, first.stderr);
	t.regex(first.stdout, /pollInterval: 2s\n/);
	t.regex(first.stdout, /idleTimeout: 1m\n/);
	t.regex(first.stdout, /stallTimeout: 90s\n/);
	await writeFile(file, first.stdout);
	const second = await run('run', '--config', file, '--print-config');
	t.is(second.stdout, first.stdout, second.stderr);
	await writeFile(file, 'pollInterval: 2000\n');
	const third = await run('run', '--config', file, '--print-config');
	t.is(third.code, 2);
	t.regex(third.stderr, /agent\.yaml: pollInterval: got 2000, expected a duration/);
});

test('collect reads a file, ends after --count records, and prints them as a table', async (t) => {
	const file = join(temporaryFolder('collect'), 'flows.ipfix');
	await writeFile(
		file,
		Buffer.concat([message(TEMPLATE_SET), ...Array.from({ length: 9 }, () => message(DATA_SET))]),
	);
	const all = await run('collect', '--read', file);
	t.is(all.code, 0, all.stderr);
	t.is(all.stdout.trim().split('\n').length, 9);
	t.like(JSON.parse(all.stdout.split('\n')[0] ?? ''), {
		sourceIPv4Address: '192.0.2.7',
		octetDeltaCount: 1500,
	});
	const four = await run('collect', '--read', file, '--count', '4');
	t.deepEqual([four.code, four.stdout.trim().split('\n').length], [0, 4]);
	const table = await run('collect', '--read', file, '--count', '1', '--format', 'table');
	const [heading = '', row = ''] = table.stdout.split('\n');
	t.regex(heading, /^PROTO +SOURCE +DESTINATION/);
	t.regex(row, /192\.0\.2\.7 .* 1500$/);
	await writeFile(file, Buffer.concat([message(TEMPLATE_SET), Buffer.from('nonsense, and long enough')]));
	const broken = await run('collect', '--read', file);
	t.is(broken.code, 1);
	t.regex(broken.stderr, /flows\.ipfix/);
});

test('a reader of stdout that goes away is a normal end', async (t) => {
	const file = join(temporaryFolder('epipe'), 'flows.ipfix');
	await writeFile(
		file,
		Buffer.concat([message(TEMPLATE_SET), ...Array.from({ length: 20_000 }, () => message(DATA_SET))]),
	);
	const child = spawn(process.execPath, [MAIN, 'collect', '--read', file], {
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	let stderr = '';
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		stderr += text;
	});
	child.stdout.once('data', () => child.stdout.destroy());
	const [code] = await once(child, 'close');
	t.deepEqual([code, stderr], [0, '']);
});

test('collect names its bound address and ends in order at a signal', async (t) => {
	const child = spawn(
		process.execPath,
		[MAIN, 'collect', '--listen', 'tcp://127.0.0.1:0', '--listen', 'udp://[::1]:0'],
		{
			stdio: ['ignore', 'pipe', 'pipe'],
		},
	);
	let stderr = '';
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		stderr += text;
	});
	while (!stderr.includes('udp://')) await once(child.stderr, 'data');
	t.regex(stderr, /listening on tcp:\/\/127\.0\.0\.1:\d+\nlistening on udp:\/\/\[::1\]:\d+\n/);
	child.kill('SIGTERM');
	t.deepEqual(await once(child, 'close'), [0, null]);
});
