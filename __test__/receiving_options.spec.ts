import test from 'ava';
import { Collector, type CollectorOptions, OptionError } from '../lib/index.ts';

const KEY = '-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49SECRETSECRET\n-----END PRIVATE KEY-----\n';
const listen = ['tcp://127.0.0.1:0'];

test('an option that cannot be used says which, what it got and what was expected', (t) => {
	const cases: Array<[options: Record<string, unknown>, path: string, expected: RegExp]> = [
		[{}, 'listen', /an address to listen on, or files to read/],
		[{ listen: ['http://a'] }, 'listen[0]', /^tcp:\/\/HOST\[:PORT\], tls:\/\/HOST\[:PORT\] or udp/],
		[{ listen: ['file:/a'] }, 'listen[0]', /^tcp:\/\/HOST/],
		[{ listen: 'tcp://a' }, 'listen', /a list of addresses/],
		[{ listen, maxSession: 1 }, 'maxSession', /no option of this name; did you mean maxSessions\?/],
		[{ listen, maxSessions: 0 }, 'maxSessions', /a whole number from 1 to 65536/],
		[{ listen, maxSessions: -1 }, 'maxSessions', /a whole number from 1/],
		[{ listen, maxQueuedBytes: Number.NaN }, 'maxQueuedBytes', /a whole number from 4096/],
		[{ listen, maxTemplateBytes: 1 }, 'maxTemplateBytes', /a whole number from 65536/],
		[{ listen, idleTimeout: '5' }, 'idleTimeout', /a duration above zero with a unit/],
		[{ listen, idleTimeout: -5 }, 'idleTimeout', /a duration above zero/],
		[{ listen, largeNumbers: 'texts' }, 'largeNumbers', /one of number, text; did you mean text\?/],
		[{ listen, optionsRecords: 'yes' }, 'optionsRecords', /true or false/],
		[{ listen, accept: true }, 'accept', /a function/],
		[{ listen, signal: {} }, 'signal', /an AbortSignal/],
		[{ files: [''] }, 'files[0]', /the path of a file/],
		...['cert', 'key', 'ca', 'crl'].map((option): [Record<string, unknown>, string, RegExp] => [
			{ listen, [option]: 'a.pem' },
			option,
			/^a tls:\/\/ address to listen on$/,
		]),
		[{ listen, handshakeTimeout: '1s' }, 'handshakeTimeout', /^a tls:\/\/ address to listen on$/],
		[{ listen: ['tls://a'], cert: 'a.pem' }, 'key', /one, because tls:\/\/a is listened on/],
		[{ listen: ['tls://a'], key: 'a.pem' }, 'cert', /one, because tls:\/\/a is listened on/],
		[{ listen: ['tls://a'], cert: 'a', key: 'a', crl: 'a' }, 'ca', /one, because crl is given/],
	];
	for (const [options, path, expected] of cases) {
		const error = t.throws(() => new Collector(options as CollectorOptions), {
			instanceOf: OptionError,
			code: 'ERR_OPTION',
		});
		t.is(error?.path, path, JSON.stringify(options));
		t.regex(error?.expected ?? '', expected);
	}
});

test('a private key stands in no error', (t) => {
	for (const options of [
		{ listen, key: KEY },
		{ listen, kye: KEY },
		{ listen: [KEY] },
		{ files: [KEY] },
		{ listen, idleTimeout: KEY },
		{ listen, largeNumbers: KEY },
		{ listen: ['tls://a'], key: [KEY], cert: 'a' },
	] as unknown as CollectorOptions[]) {
		const error = t.throws(() => new Collector(options));
		t.false(JSON.stringify([error?.message, error?.stack]).includes('SECRET'), error?.message);
	}
});
