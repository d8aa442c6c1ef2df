/**
 * `npm run soak -- --minutes N`: a collector that is not there and 2,000 new connections a second, of which each lives two
 * seconds. Memory must not grow and every structure must keep its bound; then the collector comes and gets what is alive.
 */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { COLLECTOR_PORT, sleep, track, until } from '../__test__/support/kernel.ts';
import { UNSHARE } from '../__test__/support/namespace.ts';
import { keyOf } from '../__test__/support/records.ts';
import { Collector, FlowExporter } from '../lib/index.ts';

const MAX_CONNECTIONS = 65_536;
const LIFETIME_S = 2;
const THIS = fileURLToPath(import.meta.url);

const minutes = Number(process.argv[process.argv.indexOf('--minutes') + 1]);
if (!(minutes > 0)) {
	console.error('usage: npm run soak -- --minutes N');
	process.exit(2);
}
if (process.argv.includes('--inside')) await soak();
else {
	const args = [
		process.execPath,
		'--expose-gc',
		'--import=tsx',
		THIS,
		'--minutes',
		String(minutes),
		'--inside',
	];
	const child = spawn('unshare', [...UNSHARE, ...args], { stdio: 'inherit' });
	const [code] = (await once(child, 'close')) as [number | null];
	process.exit(code ?? 1);
}

async function soak(): Promise<void> {
	track();
	for (const name of ['udp_timeout', 'udp_timeout_stream'])
		writeFileSync(`/proc/sys/net/netfilter/nf_conntrack_${name}`, String(LIFETIME_S));
	const traffic = fork(fileURLToPath(new URL('traffic.ts', import.meta.url)), { execArgv: ['--import=tsx'] });
	const [{ longLived }] = (await once(traffic, 'message')) as [{ longLived: string[] }];
	// Nobody listens there until the end.
	const url = `tcp://127.0.0.1:${COLLECTOR_PORT}`;
	const exporter = new FlowExporter({
		collectors: [{ url, reconnect: { initial: 200, max: 1_000 } }],
		protocols: ['udp'],
		pollInterval: 500,
		activeTimeout: 1_000,
		idleTimeout: 1_000,
		staleTimeout: 5_000,
		maxConnections: MAX_CONNECTIONS,
	});
	let added = 0;
	exporter.on('poll', (poll) => {
		added += poll.added;
	});
	await exporter.start();
	const samples: Array<{ second: number; rss: number }> = [];
	const worst = { connections: 0, queued: 0, tableBytes: 0, batches: 0, inFlight: 0 };
	const start = performance.now();
	const end = start + minutes * 60_000;
	while (performance.now() < end) {
		await sleep(500);
		const { table, batchesInFlight } = exporter.stats();
		// What is held counts, not what waits to be collected: that comes and goes by more than the limit.
		globalThis.gc?.();
		samples.push({ second: (performance.now() - start) / 1_000, rss: process.memoryUsage.rss() });
		worst.connections = Math.max(worst.connections, table?.connections ?? 0);
		worst.queued = Math.max(worst.queued, table?.queued ?? 0);
		worst.tableBytes = Math.max(worst.tableBytes, table?.tableBytes ?? 0);
		worst.inFlight = Math.max(worst.inFlight, table?.inFlight ?? 0);
		worst.batches = Math.max(worst.batches, batchesInFlight);
	}
	const before = exporter.stats();
	const half = samples.slice(Math.floor(samples.length / 2));
	const { level, growth } = trend(half);
	const stale = before.losses.find(({ reason }) => reason === 'stale');

	const collector = new Collector({ listen: [url] });
	await collector.start();
	const arrived = new Set<string>();
	void (async () => {
		for await (const batch of collector) for (const record of batch) arrived.add(keyOf(record));
	})();
	const missing = () => longLived.filter((key) => !arrived.has(key)).length;
	await until('what is alive has arrived', () => missing() === 0).catch(() => undefined);
	const after = exporter.stats();
	traffic.disconnect();
	await exporter.stop();
	await collector.stop();

	const rate = added / (minutes * 60);
	const mib = (octets: number) => `${(octets / 1_048_576).toFixed(1)} MiB`;
	console.log(`${minutes} minutes without a collector, ${Math.round(rate)} new connections a second`);
	console.log(
		`resident memory: ${mib(level)}, growth over the second half ${((growth / level) * 100).toFixed(2)} %`,
	);
	console.log(
		`at most ${worst.connections} connections (${mib(worst.tableBytes)}), ${worst.queued} queued, ${worst.batches} batches in flight`,
	);
	console.log(
		`lost for age: ${stale?.records ?? 0} records; then ${arrived.size} flows arrived, ${longLived.length - missing()} of the ${longLived.length} that were alive all the time`,
	);
	const failures = [
		[rate < 1_500, 'fewer new connections than it was to be'],
		[Math.abs(growth) >= level * 0.01 && growth > 0, 'resident memory grows'],
		[worst.connections > MAX_CONNECTIONS, 'the table is larger than its bound'],
		[worst.queued > worst.connections, 'more is queued than there are connections'],
		[worst.batches > 0 || worst.inFlight > 0, 'batches were taken for nobody'],
		[(stale?.records ?? 0) === 0, 'nothing became stale'],
		[missing() > 0, 'not everything that is alive has arrived'],
		[after.collectors[0]?.exportedRecords === 0, 'nothing was exported'],
	].flatMap(([wrong, text]) => (wrong ? [text] : []));
	for (const text of failures) console.log(`FAILED: ${text}`);
	console.log(failures.length === 0 ? 'soak passed' : 'soak failed');
	process.exit(failures.length === 0 ? 0 : 1);
}

/** Mean of the resident memory, and by how much a straight line through it rises from the first sample to the last. */
function trend(points: ReadonlyArray<{ second: number; rss: number }>): { level: number; growth: number } {
	const mean = (value: (point: { second: number; rss: number }) => number) =>
		points.reduce((sum, point) => sum + value(point), 0) / points.length;
	const [time, level] = [mean(({ second }) => second), mean(({ rss }) => rss)];
	const slope =
		points.reduce((sum, { second, rss }) => sum + (second - time) * (rss - level), 0) /
		points.reduce((sum, { second }) => sum + (second - time) ** 2, 0);
	return { level, growth: slope * ((points.at(-1)?.second ?? 0) - (points[0]?.second ?? 0)) };
}
