/**
 * A collector that vanishes while little is sent: each write still fits into our own kernel's buffer, and nothing is
 * acknowledged any more.
 */
import { FlowExporter } from '../../lib/index.ts';
import { account } from '../support/account.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { FaultyCollector } from '../support/faulty_collector.ts';
import { flushKernel, kernelFlows, seen, sleep, track, unansweredFlows, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

/** Writes before it is said that the session never ends. All of them together are far from filling a send buffer. */
const MOST_ROUNDS = 300;

track();
const authority = makeAuthority('little');
const server = makeCertificate(authority, 'collector.example');

async function play(tls: boolean) {
	const secure = tls ? { cert: server.cert, key: server.key } : undefined;
	const gone = await new FaultyCollector(
		[{ kind: 'blackhole', after: 3_000, lasts: 600_000 }],
		secure,
	).listen();
	const other = await new FaultyCollector([], secure).listen();
	const exporter = new FlowExporter({
		collectors: [gone, other].map(({ url }) => ({
			url,
			reconnect: { initial: '1m', max: '1m' },
			connectTimeout: 300,
			stallTimeout: 800,
			...(tls && { ca: authority.cert, serverName: 'collector.example' }),
		})),
		protocols: ['udp'],
		pollInterval: 100,
		activeTimeout: 100,
		idleTimeout: 100,
	});
	const reasons: string[] = [];
	exporter.on('disconnect', ({ reason }) => reasons.push(reason));
	await exporter.start();
	await until('both are open', () => exporter.stats().collectors.every(({ state }) => state === 'open'));
	let rounds = 0;
	for (; other.records.length === 0 && rounds < MOST_ROUNDS; rounds += 1) {
		await unansweredFlows('127.0.0.1', 5, 10, '127.0.0.1');
		await sleep(100);
	}
	await seen(exporter);
	const kernel = kernelFlows().filter(({ key }) => key.startsWith('udp'));
	if (rounds < MOST_ROUNDS)
		await until('nothing is on its way', () => exporter.stats().collectors[1]?.unsettledBytes === 0);
	const together = account(kernel, [...gone.records, ...other.records]);
	const [first] = reasons;
	await exporter.stop();
	flushKernel();
	return { first, gaveWay: other.records.length > 0, missing: together.missing };
}
const tcp = await play(false);
report({ tcp, tls: await play(true) });
