import test from 'ava';
import { inNamespace } from './support/namespace.ts';

interface Page {
	status: number;
	text: string;
}
interface Report {
	before: Record<'ready' | 'healthy' | 'metrics', Page>;
	unbound: Record<'taken' | 'foreign', [string, string]>;
	udp: string;
	after: Record<'ready' | 'healthy' | 'status' | 'metrics' | 'wrong', Page>;
	octets: number;
	antrea: string;
	certificateEnds: number;
}

const result = inNamespace<Report>('metrics');

test('ready is after the first complete poll, alive is before it too', async (t) => {
	const { before, after } = await result;
	t.is(before.ready.status, 503);
	t.is(before.healthy.status, 200);
	t.is(after.ready.status, 200);
	t.is(after.healthy.status, 200);
	t.is(after.wrong.status, 404);
});

test('status names every collector with its state', async (t) => {
	const { after } = await result;
	const status = JSON.parse(after.status.text) as {
		state: string;
		collectors: Record<string, { state: string }>;
	};
	t.is(status.state, 'running');
	t.deepEqual(Object.keys(status.collectors), ['one', 'away']);
	t.is(status.collectors['one']?.state, 'open');
	t.true(['connecting', 'backoff'].includes(status.collectors['away']?.state ?? ''));
});

test('metrics have the documented names and true values', async (t) => {
	const { after, octets } = await result;
	const lines = new Map(
		after.metrics.text
			.split('\n')
			.filter((line) => !line.startsWith('#'))
			.map((line) => line.split(/ (?=\S+$)/) as [string, string]),
	);
	for (const name of [
		'connections',
		'table_bytes',
		'kernel_entries',
		'kernel_entries_max',
		'poll_failures_total',
		'poll_interval_effective_seconds',
		'last_successful_poll_timestamp_seconds',
		'incomplete_dumps_total',
		'malformed_messages_total',
		'event_overruns_total',
		'names',
		'unnamed_connections_total',
		'refused_connections',
		'unremembered_connections',
		'evicted_connections_total',
		'forgotten_connections_total',
		'denied_connections',
		'config_last_reload_successful',
		'export_lag_seconds',
		'poll_duration_seconds_count',
	]) {
		t.true(Number(lines.get(`conntrack_ipfix_${name}`)) >= 0, name);
	}
	t.is(lines.get('conntrack_ipfix_build_info{version="0.1.0"}'), '1');
	t.is(lines.get('conntrack_ipfix_records_exported_total{collector="one"}'), '50');
	t.is(lines.get('conntrack_ipfix_records_exported_total{collector="away"}'), '0');
	t.is(lines.get('conntrack_ipfix_collector_connected{collector="one"}'), '1');
	t.is(lines.get('conntrack_ipfix_collector_connected{collector="away"}'), '0');
	t.is(lines.get('conntrack_ipfix_collector_state{collector="one",state="open"}'), '1');
	// What one collector has missed is no loss: the other has it, and the sum of losses is what nobody has.
	t.is(lines.get('conntrack_ipfix_missed_records_total{reason="away",collector="away"}'), '50');
	t.is(lines.get('conntrack_ipfix_missed_bytes_total{reason="away",collector="away"}'), String(octets));
	const lost = [...lines].filter(([name]) => name.startsWith('conntrack_ipfix_lost_records_total{'));
	t.deepEqual(
		lost.map(([, value]) => Number(value)),
		[0, 0, 0, 0],
	);
	t.true(Number(lines.get('conntrack_ipfix_sent_bytes_total{collector="one"}')) > 0);
	t.is(lines.get('conntrack_ipfix_config_last_reload_successful'), '1');
	t.true(lines.has('process_cpu_seconds_total'));
	t.false([...lines.keys()].some((name) => name.startsWith('antrea_')));
});

test('what can be lost is there before anything is, for a rate to see the first loss', async (t) => {
	const { before, udp } = await result;
	const series = (text: string, metric: string) =>
		text
			.split('\n')
			.filter((line) => line.startsWith(`conntrack_ipfix_${metric}{`))
			.map((line) => line.slice(`conntrack_ipfix_${metric}`.length))
			.sort();
	for (const unit of ['records_total', 'packets_total', 'bytes_total']) {
		const lost = ['left_at_stop', 'refused', 'stale', 'too_large'].map((reason) => `{reason="${reason}"} 0`);
		t.deepEqual(series(before.metrics.text, `lost_${unit}`), lost);
		t.deepEqual(series(before.metrics.text, `missed_${unit}`), [
			'{reason="away",collector="away"} 0',
			'{reason="away",collector="one"} 0',
			'{reason="left_at_stop",collector="away"} 0',
			'{reason="left_at_stop",collector="one"} 0',
			'{reason="stalled",collector="away"} 0',
			'{reason="stalled",collector="one"} 0',
			'{reason="too_large",collector="away"} 0',
			'{reason="too_large",collector="one"} 0',
		]);
		// The only collector: what it misses, nobody has.
		const only = ['{reason="evicted"} 0', ...lost, '{reason="udp_refused"} 0'];
		t.deepEqual(series(udp, `lost_${unit}`), only);
		t.deepEqual(series(udp, `missed_${unit}`), [
			'{reason="left_at_stop",collector="u"} 0',
			'{reason="too_large",collector="u"} 0',
			'{reason="udp_refused",collector="u"} 0',
		]);
	}
});

test('an address that cannot be bound is said to be that of the metrics', async (t) => {
	const { taken, foreign } = (await result).unbound;
	t.is(taken[0], 'EADDRINUSE');
	t.regex(taken[1], /^--metrics 127\.0\.0\.1:\d+: cannot listen: the address is in use$/);
	t.deepEqual(foreign, [
		'EADDRNOTAVAIL',
		'--metrics 192.0.2.1:9: cannot listen: this machine has no such address',
	]);
});

test("in the antrea profile Antrea's own names are there too", async (t) => {
	const { antrea } = await result;
	for (const name of [
		'conntrack_total_connection_count',
		'conntrack_antrea_connection_count',
		'conntrack_max_connection_count',
		'denied_connection_count',
		'flow_collector_reconnection_count',
		'conntrack_poll_cycle_duration_seconds_count',
	]) {
		t.regex(antrea, new RegExp(`^antrea_agent_${name} \\d+$`, 'm'));
	}
	t.regex(antrea, /^antrea_agent_conntrack_total_connection_count [1-9]/m);
	t.regex(antrea, /^antrea_agent_conntrack_poll_cycle_duration_seconds_count [1-9]/m);
});

test('the end of the own certificate is told, in seconds since 1970', async (t) => {
	const { antrea, certificateEnds } = await result;
	t.regex(
		antrea,
		new RegExp(
			`^conntrack_ipfix_tls_certificate_expiry_timestamp_seconds\\{collector="secure"\\} ${certificateEnds}$`,
			'm',
		),
	);
});
