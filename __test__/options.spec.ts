import test from 'ava';
import { environmentLayer, flagLayer, strangeVariables } from '../lib/cli/settings.ts';
import { OptionError } from '../lib/errors.ts';
import { FlowExporter } from '../lib/exporter/exporter.ts';
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
		'pollInterval: got 250, expected a duration above zero with a unit, such as 500ms, 5s, 10m or 1h',
	);
});

test('a wrong option names its path, what it got and what it expected', (t) => {
	const cases: Array<[Record<string, unknown>, string, RegExp]> = [
		[{ pollIntervall: 5 }, 'pollIntervall', /got 5, expected no option of this name/],
		[{ zones: [0, 70_000] }, 'zones[1]', /got 70000, expected a whole number from 0 to 65535/],
		[{ zones: 3 }, 'zones', /got 3, expected a list of zones/],
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
		message: /^activeTimeout: got "4s", expected at least the poll interval, 5000ms/,
	});
	t.throws(() => javascript({ pollInterval: '20s' }), {
		message: /^idleTimeout: .*expected at least the poll interval/,
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
	t.deepEqual(parseTarget('tcp://h:0', true), { kind: 'tcp', host: 'h', port: 0 });
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
		/^CONNTRACK_IPFIX_PROTOCOL: got \[\], expected at least one protocol$/,
	);
	refuses(
		() => new FlowExporter({ profile: 'antrea', zones: [] }),
		/^zones: got \[\], expected at least one/,
	);
	t.deepEqual(new FlowExporter({ zones: [] }).settings.zones, [], 'all zones, as by default');
});
