import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { temporaryFolder } from './support/folder.ts';
import { runProgram, UNSHARE } from './support/namespace.ts';
import { DATA_SET, message, TEMPLATE_SET } from './support/records.ts';

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
/** Compiled already: no loader, which would take most of the time. */
const inside = (...args: string[]): [string, string[]] => [
	'unshare',
	[...UNSHARE, process.execPath, MAIN, ...args],
];
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
		[['collect'], /--listen: got nothing, expected an address to listen on/],
		[['collect', '--listen', 'tcp://127.0.0.1:0', '--count', '0'], /whole number above zero/],
		[['dump', '--format', 'xml'], /Allowed choices are json, table/],
		[['dump', '--protocol', ','], /--protocol\[0\]: got "", expected a protocol/],
		[['run', '--family', ','], /--family\[0\]: got "", expected one of ipv4, ipv6/],
		[['run', '--zone', ''], /--zone\[0\]: got "", expected a whole number/],
		[['run', '--exclude', ''], /--exclude\[0\]: got "", expected an address or a network/],
		[['run', '--netns', ''], /--netns: got "", expected a path/],
		[['run', '--state-file', ''], /--state-file: got "", expected a path/],
		[['run', '--collector', ''], /--collector\[0\]\.url: got "", expected tcp:/],
		[['run', '--collector', 'tcp://%zz'], /--collector\[0\]\.url: got "tcp:\/\/%zz", expected tcp:/],
		[
			['run', '--collector', 'tcp://:secret@h'],
			/--collector\[0\]\.url: got "tcp:\/\/\*\*\*@h", expected tcp:/,
		],
		[['dump', '--mark', '1/2/3'], /--mark: got "1\/2\/3", expected VALUE or VALUE\/MASK/],
		[['dump', '--mark', '3/1'], /--mark: got "3\/1", expected a VALUE within its MASK/],
		[['run', '--metrics', '[1.2.3.4]:9100'], /--metrics: got .*, expected HOST:PORT/],
		[['run', '--config', ''], /configuration file : ENOENT/],
		[['run', '--pol-interval', '5s'], /unknown option '--pol-interval'\n\(Did you mean --poll-interval\?\)/],
		[['run', '--active', '5s'], /unknown option '--active'\n\(Did you mean --active-timeout\?\)/],
		[['dump', '-familly', 'ipv4'], /unknown option '-familly'\n\(Did you mean --family\?\)/],
		[['run', '--xyzzy=1'], /^error: unknown option '--xyzzy=1'\n$/],
		[['colect'], /unknown command 'colect'\n\(Did you mean collect\?\)/],
		[
			['collect', '--listen', 'tcp://127.0.0.1:0', '--idle-timeout', '5'],
			/--idle-timeout: got "5", expected a duration [^\n]* 10m or 1h\n$/,
		],
		[
			['collect', '--listen', 'tls://127.0.0.1:0'],
			/--tls-cert: .* one, because tls:\/\/127.0.0.1:0 is listened on/,
		],
		[
			['collect', '--listen', 'tcp://127.0.0.1:0', '--tls-ca', 'a'],
			/--tls-ca: got "a", expected a tls:\/\/ address to listen on\n$/,
		],
		[['dump', '--protocol', 'quic'], /--protocol\[0\]: got "quic", expected a protocol/],
	];
	for (const [args, complaint] of cases) {
		// In a namespace: a case that wrongly starts would need permission first.
		const [command, within] = inside(...args);
		const { code, stderr } = await runProgram(command, within);
		t.is(code, 2, args.join(' '));
		t.regex(stderr, complaint);
	}
});

test('a variable of the environment that is no option is said at the start', async (t) => {
	const environment = { CONNTRACK_IPFIX_ZONES: '7', CONNTRACK_IPFIX_SERVICE_HOST: '10.0.0.1' };
	const [command, within] = inside('run', '--state-file', '/nowhere/state');
	const { stderr } = await runProgram(command, within, environment);
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
	t.regex(first.stdout, /pollInterval: 2s #/);
	t.regex(first.stdout, /idleTimeout: 1m #/);
	t.regex(first.stdout, /stallTimeout: 90s #/);
	await writeFile(file, first.stdout);
	const second = await run('run', '--config', file, '--print-config');
	const uncommented = (text: string) => text.replaceAll(/ *# .*/g, '');
	t.is(uncommented(second.stdout), uncommented(first.stdout), second.stderr);
	await writeFile(file, 'zones: [1]\n---\nzones: [2]\n');
	const two = await run('run', '--config', file, '--print-config');
	t.is(two.code, 2);
	t.regex(
		two.stderr,
		/agent\.yaml: a second document begins at line 2, column 1; write all options into one$/m,
	);
	await writeFile(file, 'pollInterval: 2000\n');
	const third = await run('run', '--config', file, '--print-config');
	t.is(third.code, 2);
	t.regex(third.stderr, /agent\.yaml: pollInterval: got 2000, expected a duration/);
});

test('--print-config says where each value came from', async (t) => {
	const file = join(temporaryFolder('config'), 'agent.yaml');
	await writeFile(
		file,
		'profile: antrea\npollInterval: 30s\ncollectors: [udp://a, tls://b]\nincludeOwn: true\n',
	);
	const environment = {
		CONNTRACK_IPFIX_TLS_CA: '/ca.pem',
		CONNTRACK_IPFIX_CONFIG: file,
		CONNTRACK_IPFIX_ZONE: '',
	};
	const { stdout, stderr } = await runProgram(
		process.execPath,
		[MAIN, 'run', '--stale-timeout', '2m', '--no-include-own', '--print-config'],
		environment,
	);
	for (const line of [
		`pollInterval: 30s # file ${file}`,
		'activeTimeout: 30s # derived: the poll interval',
		'idleTimeout: 30s # derived: the poll interval',
		'staleTimeout: 2m # flag --stale-timeout',
		'includeOwn: false # flag --no-include-own',
		'zones: [ 65520, 65510 ] # profile antrea',
		'whenFull: reject-new # default',
		`# file ${file}\ncollectors:`,
		`  - url: udp://a:4739 # file ${file}`,
		'    maxMessageSize: 1024 # profile antrea',
		'    options: false # profile antrea',
		'    connectTimeout: 10s # default',
		'    ca: /ca.pem # environment CONNTRACK_IPFIX_TLS_CA',
	])
		t.true(stdout.includes(`${line}\n`), `${line}\n${stdout}${stderr}`);
});

test('an empty variable is none', async (t) => {
	const environment = {
		CONNTRACK_IPFIX_CONFIG: '',
		CONNTRACK_IPFIX_ZONE: '',
		CONNTRACK_IPFIX_POLL_INTERVAL: '',
	};
	const { code, stdout } = await runProgram(process.execPath, [MAIN, 'run', '--print-config'], environment);
	t.is(code, 0);
	t.true(stdout.includes('pollInterval: 5s # default\n'));
});

test('dump is not stopped by variables that are for run alone', async (t) => {
	const environment = { CONNTRACK_IPFIX_TLS_CA: '/ca.pem', CONNTRACK_IPFIX_POLL_INTERVAL: 'x' };
	const { code, stderr } = await runProgram(...inside('dump'), environment);
	t.deepEqual([code, stderr], [0, '']);
	const wrong = await runProgram(...inside('dump'), { CONNTRACK_IPFIX_ZONE: '70000' });
	t.regex(wrong.stderr, /^conntrack-ipfix: CONNTRACK_IPFIX_ZONE\[0\]: got 70000, expected/);
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
