import { X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { configText } from '../lib/cli/print_config.ts';
import { environmentLayer, fileLayer, flagLayer, loadSettings } from '../lib/cli/settings.ts';
import { Collector, FlowExporter } from '../lib/index.ts';
import { ROWS, resolveOptions, resolveWithOrigins } from '../lib/options/options.ts';
import { COLLECTOR_ROWS } from '../lib/options/target_settings.ts';
import { Credentials } from '../lib/transport/credentials.ts';
import { publicDeclarations } from '../scripts/docs/declarations.ts';
import { makeAuthority, makeCertificate } from './support/certificates.ts';
import { temporaryFolder } from './support/folder.ts';
import { runProgram } from './support/namespace.ts';

const MAIN = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

const { cert, key } = makeCertificate(makeAuthority('keys'), 'agent.example');
const BODY = key
	.split('\n')
	.filter((line) => line !== '' && !line.startsWith('-----'))
	.join('');
const SLICE = 12;
const CERT64 = Buffer.from(cert).toString('base64');

/** Fails when a text shows a part of the key: its base64 text however it is broken up, or its octets. */
function clean(t: ExecutionContext, shown: unknown, about: string): void {
	const text = String(shown);
	const bare = text.replaceAll(/\\[nr]|[^A-Za-z0-9+/=]/g, '');
	for (let at = 0; at + SLICE <= BODY.length; at += 1) {
		const part = BODY.slice(at, at + SLICE);
		if (bare.includes(part)) t.fail(`${about} shows ${part}:\n${text}`);
	}
	// The same in base64 once more; each third place, because that is where the text of a slice begins anew.
	for (let at = 0; at + 18 <= key.length; at += 3) {
		const part = Buffer.from(key.slice(at, at + 18)).toString('base64');
		if (bare.includes(part) && !CERT64.includes(part)) t.fail(`${about} shows ${part}:\n${text}`);
	}
	const octets = [...Buffer.from(BODY.slice(40, 52))];
	t.false(text.includes(octets.join(',')), `${about} as decimal octets:\n${text}`);
	t.false(
		text.includes(octets.map((octet) => octet.toString(16)).join(' ')),
		`${about} as hexadecimal octets`,
	);
}

/** Everything that may be printed of an error. */
function cleanError(t: ExecutionContext, error: unknown, about: string): void {
	clean(t, inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true }), about);
	clean(t, JSON.stringify(error), about);
	clean(t, (error as Error).message, about);
	clean(t, (error as Error).stack, about);
}

/** The key in the ways in which people give one, rightly or wrongly. */
const ringed: Record<string, unknown> = { pem: key };
ringed['self'] = ringed;
const FORMS: Array<[string, unknown]> = [
	['text', key],
	['combined', `${cert}${key}`],
	['key first', `${key}${cert}`],
	['on one line', key.replaceAll('\n', ' ')],
	['escaped', key.replaceAll('\n', '\\n')],
	['with CRLF', key.replaceAll('\n', '\r\n')],
	['in base64, as in a Secret of Kubernetes', Buffer.from(key).toString('base64')],
	['in base64, in lines', Buffer.from(key).toString('base64').replaceAll(/.{76}/g, '$&\n')],
	['four dashes', key.replaceAll('-----', '----')],
	['no dashes', key.replaceAll('-----', '')],
	['small letters', key.replace('BEGIN PRIVATE KEY', 'begin private key')],
	['cut', key.slice(0, 100)],
	['no first line', key.slice(key.indexOf('\n') + 1)],
	['tail', key.split('\n').slice(2).join('\n')],
	['body alone', BODY],
	['list', [key]],
	['lines', key.split('\n')],
	['object', { pem: key }],
	['name', { [key]: 1 }],
	['deep', [[{ a: { b: key } }]]],
	['octets', Buffer.from(key)],
	['octets inside', { pem: Buffer.from(key), also: [new Uint8Array(Buffer.from(key))] }],
	['in a ring', ringed],
	['in a URL', `tls://collector/${key}`],
	['in a file', `file:${key}`],
	['in a file URL', `file://${encodeURIComponent(key)}`],
];

/** Makes an exporter of it and looks at all that can be seen, whether or not it is taken. */
async function tryOptions(t: ExecutionContext, options: object, about: string): Promise<void> {
	let exporter: FlowExporter;
	try {
		exporter = new FlowExporter(options);
	} catch (error) {
		cleanError(t, error, about);
		return;
	}
	clean(t, inspect(exporter, { depth: Number.POSITIVE_INFINITY, showHidden: true }), about);
	clean(t, JSON.stringify(exporter), about);
	clean(t, JSON.stringify(exporter.stats()), about);
	const layer = { values: options, nameOf: (option: string) => option };
	clean(t, configText(resolveWithOrigins([layer], 'javascript')), `${about}, printed`);
	for (const { target, ...settings } of resolveOptions([layer], 'javascript').collectors) {
		if (target.kind !== 'tls') continue;
		await new Credentials(settings).read().catch((error: unknown) => cleanError(t, error, `${about}, read`));
	}
}

test('a private key is in nothing that is shown, whatever option it was given to', async (t) => {
	t.truthy(new X509Certificate(cert));
	const tls = { url: 'tls://collector', cert };
	// Longer than what is quoted of a value: its second line is cut.
	await tryOptions(t, { zones: `${BODY.slice(20, 84)}\n${BODY.slice(84, 148)}` }, 'lines from its midst');
	for (const [form, value] of FORMS) {
		for (const option of [...Object.keys(ROWS), 'signal', 'tlsKye', 'xyzzy']) {
			const collectors = option.startsWith('tls') ? { collectors: ['tls://a'], tlsCert: cert } : {};
			await tryOptions(t, { ...collectors, [option]: value }, `${option}, ${form}`);
		}
		for (const option of [...Object.keys(COLLECTOR_ROWS), 'kye', 'xyzzy']) {
			await tryOptions(t, { collectors: [{ ...tls, [option]: value }] }, `collector's ${option}, ${form}`);
			await tryOptions(t, { collectors: [{ url: 'tcp://a', [option]: value }] }, `tcp ${option}, ${form}`);
		}
		for (const part of ['initial', 'max', 'xyzzy'])
			await tryOptions(t, { collectors: [{ ...tls, reconnect: { [part]: value } }] }, `${part}, ${form}`);
		await tryOptions(t, { collectors: value }, `collectors, ${form}`);
		await tryOptions(t, { collectors: [value] }, `a collector, ${form}`);
		await tryOptions(t, { pods: [value] }, `a Pod, ${form}`);
		await tryOptions(t, { pods: [{ name: 'a', namespace: 'b', addresses: [value] }] }, `an address, ${form}`);
		await tryOptions(t, value as object, `the options, ${form}`);
	}
});

test('a private key is in nothing that a collector shows', async (t) => {
	const options = publicDeclarations().find(({ name }) => name === 'CollectorOptions')?.members ?? [];
	t.true(options.length > 10);
	for (const [form, value] of FORMS) {
		for (const option of [...options.map(({ name }) => name), 'kye']) {
			const about = `${option} of a collector, ${form}`;
			try {
				const given = { listen: ['tls://127.0.0.1:0'], cert, key, [option]: value };
				await using collector = new Collector(given as object);
				collector.on('warning', (warning) => clean(t, JSON.stringify(warning), about));
				clean(t, inspect(collector, { depth: Number.POSITIVE_INFINITY, showHidden: true }), about);
				clean(t, JSON.stringify(collector), about);
				await collector.start();
				clean(t, JSON.stringify([collector.stats(), collector.addresses]), about);
			} catch (error) {
				cleanError(t, error, about);
			}
		}
	}
});

test('a private key is in no complaint of flags, variables and their printed configuration', (t) => {
	for (const [form, value] of FORMS) {
		if (typeof value !== 'string') continue;
		for (const { flag = '', kind } of Object.values(ROWS)) {
			const name = flag.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
			const given = kind === 'texts' || kind === 'numbers' ? value.split(',') : value;
			const variable = `CONNTRACK_IPFIX_${flag.toUpperCase().replaceAll('-', '_')}`;
			for (const layer of [flagLayer({ [name]: given }), environmentLayer({ [variable]: value })]) {
				try {
					clean(t, configText(resolveWithOrigins([layer], 'text')), `--${flag}, ${form}`);
				} catch (error) {
					cleanError(t, error, `--${flag}, ${form}`);
				}
			}
		}
	}
});

test('a file with a private key in it is complained of without the key', async (t) => {
	const folder = temporaryFolder('keys');
	const [head, first, ...rest] = key.split('\n');
	const indented = key.replaceAll('\n', '\n    ');
	const files: Record<string, string> = {
		right: `collectors:\n  - url: tls://a\n    key: |\n      ${key.replaceAll('\n', '\n      ')}\n`,
		misspelt: `collectors:\n  - url: tls://a\n    kye: |\n      ${key.replaceAll('\n', '\n      ')}\n`,
		misspeltFlag: `tlsKye: |\n  ${key.replaceAll('\n', '\n  ')}\n`,
		notIndented: `tlsKey: |\n${key}`,
		plain: `tlsKey:\n  ${key.replaceAll('\n', '\n  ')}\n`,
		asKey: key,
		asKeys: key.replaceAll('\n', ': 1\n'),
		quoted: `tlsKey: "${key}`,
		escapes: `tlsKey: "${key.replaceAll('\n', '\\M')}"\n`,
		list: `tlsKey: [${key}, ${key}]\n`,
		mapping: `tlsKey: ${key.replaceAll('\n', ': \n')}`,
		alias: `a: &a ${BODY}\nb: *${BODY}\n`,
		aliased: `tlsKey: *${BODY.slice(40)}\n# PRIVATE KEY\n`,
		indentedInPart: `tlsKey: |\n  ${head}\n  ${first}\n${rest.join('\n')}`,
		indentedInMost: `tlsKey: |\n  ${head}\n  ${first}\n  ${rest[0]}\n${rest.slice(1).join('\n')}`,
		anchored: `tlsKey: !${BODY} x\npods: 1\n# PRIVATE KEY\n`,
		twice: `tlsKey: a\n${BODY}: 1\n${BODY}: 2\n`,
		tab: `tlsKey: |\n\t${key.replaceAll('\n', '\n\t')}`,
		beside: `pollInterval: [\n${indented}`,
		unframed: `${BODY.slice(64, 128)}: 1\n`,
		unframedList: `zones:\n  - ${BODY.slice(64, 128)}\n`,
		unframedTab: `\t${BODY.slice(64, 128)}\n`,
		secret: `tlsKey: ${Buffer.from(key).toString('base64')}\n`,
		document: `---\na: 1\n---\n${key}`,
	};
	for (const [name, text] of Object.entries(files)) {
		const path = join(folder, `${name}.yaml`);
		await writeFile(path, text);
		try {
			const layer = await fileLayer(path);
			clean(t, configText(resolveWithOrigins([layer], 'text')), name);
		} catch (error) {
			cleanError(t, error, name);
		}
	}
	await t.throwsAsync(loadSettings({ config: key }, {}), { code: 'ERR_CONFIG' });
	await loadSettings({ config: key }, {}).catch((error: unknown) => cleanError(t, error, '--config'));
});

test('the command never prints a private key', async (t) => {
	const folder = temporaryFolder('keys');
	const broken = join(folder, 'broken.yaml');
	await writeFile(broken, `tlsKey: |\n${key}`);
	const cases: Array<[string[], NodeJS.ProcessEnv]> = [
		[['run', `--tls-kye=${key}`], {}],
		[['run', '--tls-kye', key], {}],
		[['run', key], {}],
		[[key], {}],
		[['dump', '--format', key], {}],
		[['collect', '--count', key], {}],
		[['collect', '--listen', key], {}],
		[['collect', '--read', key], {}],
		[['collect', '--listen', 'tls://127.0.0.1:0', '--tls-cert', key, '--tls-key', cert], {}],
		[['run', '--config', key], {}],
		[['run', '--config', broken], {}],
		[['run', '--print-config'], { CONNTRACK_IPFIX_TLS_KEY: key, CONNTRACK_IPFIX_COLLECTOR: 'tls://a' }],
		[['run', '--collector', 'tls://a', '--tls-cert', cert + key, '--tls-key', key, '--print-config'], {}],
		[['run', '--state-file', key], {}],
		[['run', '--poll-interval', '5s', '--log-level', 'fatal', '--netns', key], {}],
	];
	for (const [args, environment] of cases) {
		const { stdout, stderr } = await runProgram(process.execPath, [MAIN, ...args], environment);
		t.not(stdout + stderr, '');
		clean(t, stdout + stderr, args.join(' '));
	}
});
