import test from 'ava';
import { splitList } from '../lib/cli/flags.ts';
import { complaintOf, environmentLayer, flagLayer, strangeVariables } from '../lib/cli/settings.ts';
import { OptionError } from '../lib/errors.ts';
import { FlowExporter, settingsOf } from '../lib/exporter/exporter.ts';
import { Run } from '../lib/exporter/run.ts';
import { formatDuration, parseDuration } from '../lib/options/duration.ts';
import { fnv1, type Layer, resolveOptions } from '../lib/options/options.ts';
import { formatTarget, parseTarget } from '../lib/options/target.ts';

const layer = (values: Record<string, unknown>): Layer => ({ values, nameOf: (option) => option });
const javascript = (values: Record<string, unknown>) => resolveOptions([layer(values)], 'javascript');
const text = (values: Record<string, unknown>) => resolveOptions([layer(values)], 'text');

test('without options everything has its documented default', (t) => {
	const settings = javascript({});
	t.like(settings, {
		collectors: [],
		delivery: 'failover',
		profile: 'standard',
		source: 'poll',
		zones: [],
		families: ['ipv4', 'ipv6'],
		includeOwn: false,
		pollInterval: 5_000,
		activeTimeout: 60_000,
		idleTimeout: 15_000,
		staleTimeout: 300_000,
		resyncInterval: 300_000,
		whenFull: 'reject-new',
		initialDelta: 'zero',
		observationDomain: 1,
		maxPollShare: 0.2,
		window: 4_194_304,
		batchRecords: 1_024,
		gracePeriod: 5_000,
	});
});

test('flag wins over environment, environment over file, file over profile, profile over default', (t) => {
	const file = layer({
		profile: 'antrea',
		pollInterval: '1s',
		activeTimeout: '7s',
		idleTimeout: '8s',
		staleTimeout: '9s',
	});
	const environment = environmentLayer({
		CONNTRACK_IPFIX_ACTIVE_TIMEOUT: '10s',
		CONNTRACK_IPFIX_IDLE_TIMEOUT: '11s',
	});
	const flags = flagLayer({ idleTimeout: '12s' });
	const settings = resolveOptions([file, environment, flags], 'text');
	t.is(settings.idleTimeout, 12_000, 'flag');
	t.is(settings.activeTimeout, 10_000, 'environment');
	t.is(settings.staleTimeout, 9_000, 'file');
	t.is(
		resolveOptions([layer({ profile: 'antrea', pollInterval: '1s' })], 'text').activeTimeout,
		5_000,
		'profile',
	);
	t.is(settings.whenFull, 'reject-new', 'default');
});

test('a bare number is milliseconds in JavaScript only', (t) => {
	t.is(javascript({ pollInterval: 250 }).pollInterval, 250);
	t.is(javascript({ pollInterval: '250ms' }).pollInterval, 250);
	const error = t.throws(() => text({ pollInterval: 250 }), { instanceOf: OptionError });
	t.is(
		error?.message,
		'pollInterval: got 250, expected a duration above zero with a unit, at most 24 days, such as 500ms, 5s, 10m or 1h',
	);
});

test('a wrong option names its path, what it got and what it expected', (t) => {
	const cases: Array<[Record<string, unknown>, string, RegExp]> = [
		[{ pollIntervall: 5 }, 'pollIntervall', /got 5, expected no option of this name/],
		[{ zones: [0, 70_000] }, 'zones[1]', /got 70000, expected a whole number from 0 to 65535/],
		[{ zones: 3 }, 'zones', /got 3, expected a list of zones/],
		[
			{ zones: Array(201).fill(7) },
			'zones',
			/got \[7,7,.*, expected at most 200 zones, or none to export all$/,
		],
		[{ collectors: [{ url: undefined }] }, 'collectors[0].url', /got nothing, expected tcp:\/\/HOST/],
		[{ collectors: [{ name: 'a' }] }, 'collectors[0].url', /got nothing, expected tcp:\/\/HOST/],
		[{ gracePeriod: Number.NaN }, 'gracePeriod', /got NaN, expected a duration/],
		[{ gracePeriod: Number.POSITIVE_INFINITY }, 'gracePeriod', /got Infinity, expected a duration/],
		[{ gracePeriod: '25d' }, 'gracePeriod', /got "25d", expected a duration .* at most 24 days/],
		[{ collectors: ['http://x'] }, 'collectors[0].url', /got "http:\/\/x", expected tcp:\/\/HOST/],
		[{ collectors: [{ url: 'tcp://x', stallTimeout: 0 }] }, 'collectors[0].stallTimeout', /got 0/],
		[
			{ collectors: [{ url: 'tls://x', minVersion: 'TLSv1.1' }] },
			'collectors[0].minVersion',
			/expected one of TLSv1.2, TLSv1.3/,
		],
		[
			{ collectors: [{ url: 'tls://x', cert: 'a.pem' }] },
			'collectors[0].key',
			/got nothing, expected one, because cert is given/,
		],
		[{ collectors: ['tcp://x', 'tcp://x:4739'] }, 'collectors[1]', /a name that no other collector has/],
		[{ protocols: ['tcp', 'quic'] }, 'protocols[1]', /got "quic", expected a protocol/],
		[{ exclude: ['10.0.0.0/33'] }, 'exclude[0]', /got "10.0.0.0\/33", expected an address or a network/],
		[{ mark: '0x1/z' }, 'mark', /got "0x1\/z", expected VALUE or VALUE\/MASK/],
		[{ families: ['ipv5'] }, 'families[0]', /expected one of ipv4, ipv6/],
		[{ maxPollShare: 0 }, 'maxPollShare', /above 0, at most 1/],
		[{ includeOwn: 'maybe' }, 'includeOwn', /expected true or false/],
		[{ observationDomain: -1 }, 'observationDomain', /from 0 to 4294967295/],
	];
	for (const [values, path, message] of cases) {
		const error = t.throws(
			() => javascript(values),
			{ instanceOf: OptionError, code: 'ERR_OPTION', message },
			path,
		);
		t.is(error?.path, path);
	}
});

test('the place of a wrong option is named as it was given there', (t) => {
	t.throws(() => resolveOptions([flagLayer({ pollInterval: 'fast' })], 'text'), {
		message: /^--poll-interval: got "fast"/,
	});
	t.throws(() => resolveOptions([environmentLayer({ CONNTRACK_IPFIX_ZONE: '1,x' })], 'text'), {
		message: /^CONNTRACK_IPFIX_ZONE\[1\]: got "x"/,
	});
});

test('timeouts keep their bounds', (t) => {
	t.throws(() => javascript({ pollInterval: 99 }), {
		message: /^pollInterval: got 99, expected at least 100ms/,
	});
	t.throws(() => javascript({ activeTimeout: '4s' }), {
		message: /^activeTimeout: got "4s", expected at least the poll interval, 5s$/,
	});
	t.throws(() => javascript({ pollInterval: '20s', idleTimeout: '15s' }), {
		message: /^idleTimeout: .*expected at least the poll interval, 20s$/,
	});
	t.throws(() => javascript({ staleTimeout: 0 }), { message: /^staleTimeout: got 0/ });
	t.notThrows(() => javascript({ pollInterval: 100, activeTimeout: 100, idleTimeout: 100 }));
});

test('variables of the environment that name no option are left alone', (t) => {
	const { values } = environmentLayer({
		CONNTRACK_IPFIX_SERVICE_HOST: '10.0.0.1',
		CONNTRACK_IPFIX_INCLUDE_OWN: 'true',
		PATH: '/bin',
	});
	t.deepEqual(values, { includeOwn: true });
});

test('variables with the prefix that are neither an option nor of a Service are found', (t) => {
	const strange = ['CONNTRACK_IPFIX_POL_INTERVAL', 'CONNTRACK_IPFIX_COLLECTORS', 'CONNTRACK_IPFIX_PORTS'];
	const others = [
		'CONNTRACK_IPFIX_CONFIG',
		'CONNTRACK_IPFIX_POLL_INTERVAL',
		'CONNTRACK_IPFIX_TLS_SERVER_NAME',
		// Kubernetes, for the Services conntrack-ipfix and conntrack-ipfix-metrics.
		'CONNTRACK_IPFIX_SERVICE_HOST',
		'CONNTRACK_IPFIX_SERVICE_PORT',
		'CONNTRACK_IPFIX_SERVICE_PORT_IPFIX_TLS',
		'CONNTRACK_IPFIX_PORT',
		'CONNTRACK_IPFIX_PORT_4739_TCP',
		'CONNTRACK_IPFIX_PORT_4739_UDP_PROTO',
		'CONNTRACK_IPFIX_PORT_4739_UDP_PORT',
		'CONNTRACK_IPFIX_PORT_4739_TCP_ADDR',
		'CONNTRACK_IPFIX_METRICS_SERVICE_HOST',
		'CONNTRACK_IPFIX_METRICS_PORT_80_TCP_ADDR',
		'CONNTRACK',
		'HOME',
	];
	const environment = Object.fromEntries([...others, ...strange].map((name) => [name, 'x']));
	t.deepEqual(strangeVariables(environment), strange);
	t.regex(complaintOf('CONNTRACK_IPFIX_POL_INTERVAL'), /did you mean CONNTRACK_IPFIX_POLL_INTERVAL\?/);
	t.notRegex(complaintOf('CONNTRACK_IPFIX_XYZZY'), /did you mean/);
});

test('selection options become what the core takes', (t) => {
	const settings = text({
		protocols: ['TCP', '58'],
		mark: '0x10/0xff',
		exclude: ['10.0.0.1', 'fd00::/8'],
		netns: 'blue',
	});
	t.deepEqual(settings.protocols, [6, 58]);
	t.deepEqual(settings.mark, { value: 16, mask: 255 });
	t.deepEqual(settings.exclude, ['10.0.0.1/32', 'fd00::/8']);
	t.deepEqual(text({ mark: '7' }).mark, { value: 7, mask: 0xffff_ffff });
});

test('collectors have their ports, names and defaults', (t) => {
	const { collectors } = javascript({
		collectors: ['tcp://a', { url: 'tls://[fd00::1]', name: 'b' }, 'udp://c:99', 'file:/tmp/x.ipfix'],
		tlsCa: 'ca.pem',
	});
	t.deepEqual(
		collectors.map(({ name }) => name),
		['tcp://a:4739', 'b', 'udp://c:99', 'file:/tmp/x.ipfix'],
	);
	t.deepEqual(collectors[1]?.target, { kind: 'tls', host: 'fd00::1', port: 4740 });
	t.deepEqual(
		collectors.map(({ ca }) => ca),
		[undefined, 'ca.pem', undefined, undefined],
	);
	t.like(collectors[0], {
		connectTimeout: 10_000,
		stallTimeout: 30_000,
		reconnect: { initial: 1_000, max: 60_000 },
		options: true,
	});
});

test('the antrea profile changes timeout, domain and zones', (t) => {
	const settings = javascript({ profile: 'antrea' });
	t.like(settings, { activeTimeout: 5_000, zones: [65_520, 65_510] });
	t.deepEqual(
		javascript({ profile: 'antrea', families: ['ipv6'], connectUplinkToBridge: true }).zones,
		[12_288],
	);
	t.false(javascript({ profile: 'antrea', collectors: ['tcp://a'] }).collectors[0]?.options);
	const sizeTo = (url: string) =>
		javascript({ profile: 'antrea', collectors: [url] }).collectors[0]?.maxMessageSize;
	t.deepEqual([sizeTo('udp://a'), sizeTo('tcp://a')], [1_024, undefined]);
	// FNV-1, 32 bits: published test vectors.
	t.is(fnv1(''), 0x811c_9dc5);
	t.is(fnv1('a'), 0x050c_5d7e);
	t.is(fnv1('foobar'), 0x31f0_b262);
});

test('durations have a unit, are above zero and fit a timer', (t) => {
	t.deepEqual(
		['1ms', '5s', '1.5s', '10m', '2h', '1d'].map(parseDuration),
		[1, 5_000, 1_500, 600_000, 7_200_000, 86_400_000],
	);
	t.deepEqual(['5', '0s', '-1s', '5 s', 's', '25d', '1e3s', ''].map(parseDuration), Array(8).fill(undefined));
	t.deepEqual([1, 1_500, 5_000, 600_000, 7_200_000].map(formatDuration), [
		'1ms',
		'1500ms',
		'5s',
		'10m',
		'2h',
	]);
});

test('targets are URLs of four kinds', (t) => {
	for (const wrong of [
		'tcp://%zz',
		'tcp://:secret@host',
		'tcp://host:4739:1',
		'tcp://[fe80::1',
		'tcp://[1.2.3.4]',
		'tcp://fe80::1',
		'tcp://[fe80::1%]',
		'tcp://[fe80::1%much-too-long-for-a-link]',
		'tcp://a b',
		'collector',
		'tcp://',
		'tcp://a:0',
		'tcp://a:70000',
		'sctp://a',
		'tcp://u@a',
		'tcp://a/path',
		'file:',
	]) {
		t.is(parseTarget(wrong), undefined, wrong);
	}
	t.is(formatTarget(parseTarget('udp://[::1]:99') ?? { kind: 'file', path: '' }), 'udp://[::1]:99');
	t.deepEqual(parseTarget('file:flows.ipfix'), { kind: 'file', path: 'flows.ipfix' });
	t.deepEqual(parseTarget('file:///var/x.ipfix'), { kind: 'file', path: '/var/x.ipfix' });
	for (const slashes of ['file:////var/x.ipfix', 'file://///var/x.ipfix']) {
		const found = parseTarget(slashes);
		t.is(found && formatTarget(found), 'file:/var/x.ipfix', 'what is printed is read again');
	}
	t.deepEqual(parseTarget('tcp://h:0', true), { kind: 'tcp', host: 'h', port: 0 });
	const scoped = { kind: 'tcp', host: 'fe80::1%eth0', port: 4739 } as const;
	t.deepEqual(parseTarget('tcp://[FE80:0::1%eth0]'), scoped);
	t.deepEqual(parseTarget('tcp://[fe80::1%25eth0]:4739/'), scoped, 'as RFC 6874 writes it');
	t.is(formatTarget(scoped), 'tcp://[fe80::1%eth0]:4739');
});

test('a wrong name says the nearest one, wherever it was written', (t) => {
	const cases: Array<[() => unknown, RegExp]> = [
		[
			() => javascript({ pollIntervall: 5 }),
			/^pollIntervall: got 5, expected no option of this name; did you mean pollInterval\?$/,
		],
		[() => javascript({ PollInterval: 5 }), /did you mean pollInterval\?$/],
		[() => javascript({ zone: [1] }), /did you mean zones\?$/],
		[() => javascript({ xyzzy: 1 }), /^xyzzy: got 1, expected no option of this name$/],
		[
			() => javascript({ collectors: ['tcp://a', { url: 'tls://b', serverNmae: 'c' }] }),
			/^collectors\[1\]\.serverNmae: .*; did you mean serverName\?$/,
		],
		[
			() => javascript({ collectors: [{ url: 'tcp://a', reconnect: { intial: 1 } }] }),
			/^collectors\[0\]\.reconnect\.intial: .*; did you mean initial\?$/,
		],
		[
			() => javascript({ pods: [{ name: 'a', namespace: 'b', adresses: [] }] }),
			/^pods\[0\]\.adresses: .*; did you mean addresses\?$/,
		],
		[
			() => resolveOptions([flagLayer({ fields: ['mark', 'octetDeltaCuont'] })], 'text'),
			/^--fields\[1\]: got "octetDeltaCuont", .*; did you mean octetDeltaCount\?$/,
		],
		[
			() => javascript({ collectors: [{ urll: 'tcp://a' }] }),
			/^collectors\[0\]\.urll: got "tcp:\/\/a", .*; did you mean url\?$/,
		],
		[() => javascript({ mark: { value: 1, maks: 1 } }), /^mark: .*; did you mean mask\?$/],
		[() => javascript({ profile: 'antera' }), /expected one of standard, antrea; did you mean antrea\?$/],
		[() => javascript({ protocols: ['udpp'] }), /; did you mean udp\?$/],
	];
	for (const [make, message] of cases) t.throws(make, { instanceOf: OptionError, message });
});

test('a poll interval alone is enough: timeouts that were not given are no shorter', (t) => {
	const timeouts = (values: Record<string, unknown>) => {
		const { activeTimeout, idleTimeout } = javascript(values);
		return [activeTimeout, idleTimeout];
	};
	t.deepEqual(timeouts({ pollInterval: '30s' }), [60_000, 30_000]);
	t.deepEqual(timeouts({ pollInterval: '2m' }), [120_000, 120_000]);
	t.deepEqual(timeouts({ pollInterval: '30s', profile: 'antrea' }), [30_000, 30_000]);
	t.deepEqual(timeouts({ pollInterval: '1s' }), [60_000, 15_000]);
});

test('a mark is two parts at most, and one that can never match is refused', (t) => {
	for (const [mark, message] of [
		['1/2/3', /^mark: got "1\/2\/3", expected VALUE or VALUE\/MASK/],
		['0x11/0x10', /^mark: .*no mark ever matches, because 0x1 of 0x11 is outside of 0x10$/],
		[{ value: 0x8000_0000, mask: 1 }, /because 0x80000000 of 0x80000000 is outside of 0x1$/],
		[{ value: 1 }, /expected VALUE or VALUE\/MASK/],
		[{ value: 1, mask: 1, bits: 1 }, /expected VALUE or VALUE\/MASK/],
		['', /^mark: got ""/],
		[-1, /^mark: got -1/],
	] as const)
		t.throws(() => javascript({ mark }), { instanceOf: OptionError, message });
	t.deepEqual(javascript({ mark: 7 }).mark, { value: 7, mask: 0xffff_ffff });
	t.deepEqual(javascript({ mark: '0x80000000/0xf0000000' }).mark, { value: 0x8000_0000, mask: 0xf000_0000 });
	t.throws(() => javascript({ exclude: ['10.0.0.0/8/9'] }), { instanceOf: OptionError });
	t.throws(() => javascript({ exclude: ['fe80::1%eth0/64'] }), { instanceOf: OptionError });
});

test('fields that no record, or not every record, could have are refused before the start', (t) => {
	const refused = (fields: unknown, more: object = {}) =>
		t.throws(() => new FlowExporter({ fields, ...more } as object), { instanceOf: OptionError })?.message;
	t.is(refused([]), 'fields: got [], expected at least one element');
	t.is(refused(['mark', 'octetDeltaCount', 'mark']), 'fields[2]: got "mark", expected each name once');
	t.regex(refused(['sourceIPv4Address']) ?? '', /those of IPv6 have none of these; add sourceIPv6Address/);
	t.regex(refused(['sourceTransportPort']) ?? '', /those of IPv4, ICMP have none/);
	t.regex(refused(['mark'], { profile: 'antrea' }) ?? '', /the antrea profile has elements of its own/);
	t.notThrows(() => new FlowExporter({ fields: ['sourceIPv4Address', 'sourceIPv6Address'] }));
});

test('a message size that some record would not fit is refused before the start', (t) => {
	const sized = (maxMessageSize: number, more: object = {}) =>
		new FlowExporter({ ...more, collectors: ['tcp://a', { url: 'tcp://b', maxMessageSize }] });
	const error = t.throws(() => sized(256, { profile: 'antrea' }), { instanceOf: OptionError });
	t.regex(error?.message ?? '', /^collectors\[1\]\.maxMessageSize: got 256, expected .*320 to 65535 octets/);
	t.notThrows(() => sized(320, { profile: 'antrea' }));
	t.notThrows(() => sized(256));
});

test('a flag undoes what the environment and the file say', (t) => {
	const environment = environmentLayer({ CONNTRACK_IPFIX_INCLUDE_OWN: 'true' });
	t.true(resolveOptions([environment], 'text').includeOwn);
	t.false(resolveOptions([environment, flagLayer({ includeOwn: false })], 'text').includeOwn);
});

test('options are an object', (t) => {
	for (const options of [5, 'tcp://a', null, ['tcp://a'], () => 1]) {
		t.throws(() => new FlowExporter(options as object), {
			instanceOf: OptionError,
			message: /expected an object of options$/,
		});
	}
});

test('names that every object has are wrong names, too', (t) => {
	t.throws(() => javascript(JSON.parse('{"__proto__": 1}')), {
		message: /^__proto__: got 1, expected no option/,
	});
	t.throws(() => javascript({ constructor: 1 }), { message: /^constructor: got 1, expected no option/ });
	t.throws(() => javascript({ fields: ['constructor'] }), { message: /^fields\[0\]: got "constructor"/ });
	t.throws(() => javascript({ protocols: ['constructor'] }), {
		message: /^protocols\[0\]: got "constructor"/,
	});
	const environment = environmentLayer({ CONNTRACK_IPFIX_INCLUDE_OWN: 'constructor' });
	t.throws(() => resolveOptions([environment], 'text'), {
		message: /OWN: got "constructor", expected true or false/,
	});
});

test('what an exporter says before its start is what its run would say', (t) => {
	const options = { collectors: ['tcp://a', 'udp://b', 'file:/nowhere/c'], source: 'events' } as const;
	const exporter = new FlowExporter(options);
	t.deepEqual(
		exporter.stats(),
		new Run(settingsOf(exporter), new Map(), exporter, () => undefined).stats('new'),
	);
	t.not(exporter.stats().collectors, exporter.stats().collectors, 'each its own');
});

test('a password in a URL is not shown', (t) => {
	for (const password of [
		'hunter2',
		'hun/ter2',
		'hun"ter2',
		'hun@ter2',
		"hun'ter2",
		'hun%2Fter2',
		'hun\\ter2',
	]) {
		const error = t.throws(() => javascript({ collectors: [`tcp://me:${password}@collector`] }));
		t.regex(error?.message ?? '', /got "tcp:\/\/\*\*\*@collector"/);
	}
	const long = t.throws(() => javascript({ collectors: [`tcp://me:${'hunter2'.repeat(30)}@collector`] }));
	t.notRegex(long?.message ?? '', /hunter2/);
	const file = t.throws(() => javascript({ collectors: ['file:///a@b/'] }));
	t.regex(file?.message ?? '', /got "file:\/a@b\/"/, 'a path has none');
});

test('an empty list never selects everything unsaid', (t) => {
	const refuses = (make: () => unknown, complaint: RegExp) => {
		const error = t.throws(make, { instanceOf: OptionError });
		t.regex(error?.message ?? '', complaint);
	};
	refuses(() => new FlowExporter({ protocols: [] }), /^protocols: got \[\], expected at least one protocol$/);
	refuses(() => new FlowExporter({ families: [] }), /^families: got \[\], expected at least one of/);
	refuses(
		() => resolveOptions([environmentLayer({ CONNTRACK_IPFIX_PROTOCOL: ',' })], 'text'),
		/^CONNTRACK_IPFIX_PROTOCOL\[0\]: got "", expected a protocol/,
	);
	refuses(
		() => new FlowExporter({ profile: 'antrea', zones: [] }),
		/^zones: got \[\], expected at least one/,
	);
	for (const option of ['zones', 'exclude', 'fields', 'collectors']) {
		const name = { zones: 'zone', collectors: 'collector' }[option] ?? option;
		refuses(
			() => resolveOptions([flagLayer({ [name]: splitList('') })], 'text'),
			new RegExp(`^--${name}\\[0\\].*: got "", expected`),
		);
	}
	t.deepEqual(javascript({ zones: [] }).zones, [], 'all zones, as by default');
});
