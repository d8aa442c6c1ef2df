import test from 'ava';
import { flagLayer } from '../lib/cli/settings.ts';
import { OptionError } from '../lib/errors.ts';
import { resolveOptions } from '../lib/options/options.ts';
import { temporaryFolder } from './support/folder.ts';

const javascript = (values: Record<string, unknown>) =>
	resolveOptions([{ values, nameOf: (option) => option }], 'javascript');

test('an option that no transport of the collector uses is refused, with what would use it', (t) => {
	const pem = '-----BEGIN PRIVATE KEY-----\nsecret';
	const cases: Array<[Record<string, unknown>, string]> = [
		[{ url: 'tcp://a', ca: 'x.pem' }, 'ca: got "x.pem", expected a tls:// collector'],
		[{ url: 'udp://a', cert: 'x.pem' }, 'cert: got "x.pem", expected a tls:// collector'],
		[{ url: 'tcp://a', key: pem }, 'key: got (a private key, not shown), expected a tls:// collector'],
		[{ url: 'file:/a', crl: 'x.pem' }, 'crl: got "x.pem", expected a tls:// collector'],
		[{ url: 'tcp://a', serverName: 'b' }, 'serverName: got "b", expected a tls:// collector'],
		[{ url: 'udp://a', minVersion: 'TLSv1.3' }, 'minVersion: got "TLSv1.3", expected a tls:// collector'],
		[{ url: 'tcp://a', templateRefresh: '1m' }, 'templateRefresh: got "1m", expected a udp:// collector'],
		[
			{ url: 'tls://a', templateRefreshPackets: 9 },
			'templateRefreshPackets: got 9, expected a udp:// collector',
		],
		[{ url: 'tcp://a', rotate: { size: 65_536 } }, 'rotate: got {"size":65536}, expected a file: collector'],
		[{ url: 'udp://a', flushInterval: '1s' }, 'flushInterval: got "1s", expected a file: collector'],
		[
			{ url: 'file:/a', connectTimeout: '1s' },
			'connectTimeout: got "1s", expected a tcp:// or tls:// or udp:// collector',
		],
		[{ url: 'udp://a', stallTimeout: '1s' }, 'stallTimeout: got "1s", expected a tcp:// or tls:// collector'],
		[{ url: 'file:/a', stallTimeout: '1s' }, 'stallTimeout: got "1s", expected a tcp:// or tls:// collector'],
	];
	for (const [collector, message] of cases)
		t.is(
			t.throws(() => javascript({ collectors: ['tls://b', collector] }), { instanceOf: OptionError })
				?.message,
			`collectors[1].${message}`,
		);
	t.notThrows(() =>
		javascript({
			collectors: [
				{ url: 'tls://a', ca: 'x', cert: 'x', key: 'x', crl: 'x', serverName: 'x', stallTimeout: 1 },
				{ url: 'udp://a', templateRefresh: 1, templateRefreshPackets: 1, connectTimeout: 1 },
				{ url: 'file:/nowhere/a', rotate: { size: 65_536 }, flushInterval: 1, reconnect: { max: 1 } },
			],
		}),
	);
});

test('TLS options need a collector over TLS', (t) => {
	const flags = (values: Record<string, unknown>) => () => resolveOptions([flagLayer(values)], 'text');
	const mixed = ['tcp://a', 'tls://b'];
	for (const [flag, value] of [
		['tlsCa', 'ca.pem'],
		['tlsServerName', 'b'],
	] as const) {
		const name = flag === 'tlsCa' ? '--tls-ca' : '--tls-server-name';
		const message = `${name}: got "${value}", expected a tls:// collector`;
		t.throws(flags({ [flag]: value }), { instanceOf: OptionError, message });
		t.throws(flags({ [flag]: value, collector: ['tcp://a', 'udp://a'] }), { message });
		t.notThrows(flags({ [flag]: value, collector: mixed }));
	}
	t.throws(flags({ tlsCert: 'x.pem', collector: mixed }), {
		message: '--tls-key: got nothing, expected one, because --tls-cert is given',
	});
	for (const option of ['tlsCert', 'tlsKey']) {
		t.throws(() => javascript({ [option]: 'x.pem', collectors: ['tcp://a'] }), {
			message: `${option}: got "x.pem", expected a tls:// collector`,
		});
	}
});

test('the longest wait before an attempt is no shorter than the first', (t) => {
	const waits = (reconnect: unknown) =>
		javascript({ collectors: [{ url: 'tcp://a', reconnect }] }).collectors[0]?.reconnect;
	t.throws(() => waits({ initial: '10s', max: '1s' }), {
		instanceOf: OptionError,
		message: 'collectors[0].reconnect.max: got "1s", expected at least the first wait, which is "10s"',
	});
	t.deepEqual(waits({ initial: '1s', max: '1s' }), { initial: 1_000, max: 1_000 });
	t.deepEqual(waits({ initial: '2m' }), { initial: 120_000, max: 120_000 });
	t.deepEqual(waits({ max: '500ms' }), { initial: 500, max: 500 });
});

test('a folder is no file to write to', (t) => {
	const folder = temporaryFolder('collector');
	for (const path of [folder, `${folder}/`]) {
		t.throws(() => javascript({ collectors: ['tcp://a', `file:${path}`] }), {
			instanceOf: OptionError,
			message: `collectors[1].url: got "file:${path}", expected the path of a file, and this is a folder`,
		});
	}
	t.notThrows(() => javascript({ collectors: [`file:${folder}/flows.ipfix`] }));
});

test('two collectors do not write to one path', (t) => {
	const file = (url: string, name: string) => ({ url, name });
	const refused = (...collectors: unknown[]) =>
		t.throws(() => javascript({ collectors }), { instanceOf: OptionError })?.message;
	t.is(
		refused(file('file:/a/b', 'one'), 'tcp://a', file('file:///a/./c/../b', 'two')),
		'collectors[2].url: got "file:/a/b", expected a path that no other collector writes to',
	);
	t.is(
		refused(file(`file:${process.cwd()}/b`, 'one'), file('file:b', 'two')),
		'collectors[1].url: got "file:b", expected a path that no other collector writes to',
	);
	t.notThrows(() =>
		javascript({ collectors: ['file:a', 'file:b', file('tcp://a', 'one'), file('tcp://a', 'two')] }),
	);
});
