/**
 * A collector that fails in every way, one after another, while flows go on. Each case has flows, collectors and an
 * exporter of its own, and reports what arrived against what the kernel counted.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { FlowExporter } from '../../lib/index.ts';
import { account, sequenceErrors } from '../support/account.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { type Fault, FaultyCollector } from '../support/faulty_collector.ts';
import { flushKernel, kernelFlows, seen, sleep, track, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

const FLOWS = 800;
const ROUNDS = 3;
const ROUND_MS = 250;

track();
// Small kernel buffers, so that a few hundred records fill them.
writeFileSync('/proc/sys/net/ipv4/tcp_rmem', '4096 16384 32768');
writeFileSync('/proc/sys/net/ipv4/tcp_wmem', '4096 16384 65536');

const authority = makeAuthority('faults');
const server = makeCertificate(authority, 'collector.example');

interface Case {
	name: string;
	/** Faults of each collector's connections. */
	collectors: Fault[][];
	delivery?: 'failover' | 'all';
	tls?: boolean;
	/** Milliseconds that nobody listens. */
	refused?: number;
	staleTimeout?: number;
	stallTimeout?: number;
	connectTimeout?: number;
	flows?: number;
}

const CASES: Case[] = [
	{ name: 'refuse', collectors: [[]], refused: 600 },
	{ name: 'delay', collectors: [[{ kind: 'none', delay: 500 }]] },
	{ name: 'stall', collectors: [[{ kind: 'stall', after: 30_000 }]], stallTimeout: 400 },
	{ name: 'slow', collectors: [[{ kind: 'slow', after: 30_000 }]], stallTimeout: 400 },
	{
		name: 'reset',
		collectors: [
			[
				{ kind: 'reset' },
				{ kind: 'reset', after: 1 },
				{ kind: 'reset', after: 20_000 },
				{ kind: 'reset', after: 50_000 },
			],
		],
	},
	{ name: 'half-close', collectors: [[{ kind: 'half-close' }, { kind: 'half-close', after: 20_000 }]] },
	{
		name: 'blackhole',
		collectors: [[{ kind: 'blackhole', after: 20_000, lasts: 1_200 }]],
		stallTimeout: 400,
		connectTimeout: 300,
	},
	{ name: 'mute', collectors: [[{ kind: 'mute', after: 20_000, lasts: 1_200 }]], stallTimeout: 400 },
	{ name: 'garbage', collectors: [[{ kind: 'garbage' }]] },
	{ name: 'gone for long', collectors: [[]], refused: 2_500, staleTimeout: 500 },
	{ name: 'reset over TLS', collectors: [[{ kind: 'reset', after: 30_000 }]], tls: true },
	{ name: 'stall over TLS', collectors: [[{ kind: 'stall', after: 30_000 }]], tls: true, stallTimeout: 400 },
	{
		name: 'all, one resets',
		collectors: [
			[
				{ kind: 'reset', after: 30_000 },
				{ kind: 'reset', after: 30_000 },
			],
			[],
		],
		delivery: 'all',
	},
	{
		name: 'all, one is mute',
		collectors: [[{ kind: 'mute', after: 20_000, lasts: 1_200 }], []],
		stallTimeout: 400,
		delivery: 'all',
	},
	{
		name: 'all, one does not read',
		collectors: [[{ kind: 'stall', after: 20_000, lasts: 4_000 }], []],
		delivery: 'all',
		flows: 3_000,
	},
	{
		name: 'failover',
		collectors: [
			[
				{ kind: 'reset', after: 30_000 },
				{ kind: 'reset', after: 10_000 },
			],
			[],
		],
	},
];

async function play(one: Case) {
	const { name, collectors: faults, delivery, tls, refused, staleTimeout } = one;
	// Only who is to stall is given up soon: on a busy machine others may seem to.
	const { stallTimeout = 30_000, connectTimeout = 10_000, flows = FLOWS } = one;
	const secure = tls ? { cert: server.cert, key: server.key } : undefined;
	const collectors = await Promise.all(faults.map((list) => new FaultyCollector(list, secure).listen()));
	if (refused !== undefined) for (const collector of collectors) collector.refuse();
	const exporter = new FlowExporter({
		collectors: collectors.map(({ url }) => ({
			url,
			reconnect: { initial: 40, max: 80 },
			connectTimeout,
			stallTimeout,
			...(tls && { ca: authority.cert, serverName: 'collector.example' }),
		})),
		delivery: delivery ?? 'failover',
		protocols: ['udp'],
		pollInterval: 100,
		activeTimeout: 200,
		idleTimeout: '1m',
		batchRecords: 100,
		window: 65_536,
		...(staleTimeout !== undefined && { staleTimeout }),
	});
	const breaks: string[] = [];
	exporter.on('disconnect', ({ reason }) => breaks.push(reason));
	await exporter.start();

	const source = createSocket('udp4').bind(0, '127.0.0.1');
	await once(source, 'listening');
	for (let round = 0; round < ROUNDS; round += 1) {
		for (let port = 1; port <= flows; port += 1) {
			await new Promise<void>((resolve) =>
				source.send(Buffer.alloc(10 * (round + 1)), port, '127.0.0.1', () => resolve()),
			);
		}
		await sleep(ROUND_MS);
	}
	source.close();
	await seen(exporter);
	const kernel = kernelFlows().filter(({ key }) => key.startsWith('udp'));
	flushKernel();
	if (refused !== undefined) {
		await sleep(refused);
		await Promise.all(collectors.map((collector) => collector.listen()));
		await until('it is back', () => exporter.stats().collectors[0]?.state === 'open');
	}
	let firstMeanwhile: string | undefined;
	if (delivery === 'all') {
		await until('the second has everything', () => {
			return account(kernel, collectors[1]?.records ?? []).missing.flows === 0;
		});
		firstMeanwhile = exporter.stats().collectors[0]?.state;
	}
	await until(`${name}: all has left the table`, () => {
		const { table, collectors } = exporter.stats();
		return (
			table?.connections === 0 &&
			collectors.every(({ unsettledBytes, state }) => unsettledBytes === 0 && state === 'open')
		);
	});
	await exporter.stop();
	await Promise.all(collectors.map((collector) => collector.ended()));
	const { collectors: sessions, losses } = exporter.stats();
	return {
		name,
		breaks: breaks.filter((reason) => reason !== 'closed'),
		losses,
		/** State of the first session when the second collector had everything. */
		firstMeanwhile,
		/** What all together have, and each by itself. */
		together: account(
			kernel,
			collectors.flatMap(({ records }) => records),
		),
		collectors: collectors.map((collector, index) => ({
			...account(kernel, collector.records),
			sequenceErrors: collector.sessions.reduce((sum, { records }) => sum + sequenceErrors(records), 0),
			connections: collector.sessions.length,
			octets: collector.sessions.map(({ octets }) => octets),
			errors: collector.sessions.flatMap(({ error }) => (error === null ? [] : [error])),
			session: sessions[index],
		})),
	};
}

const outcomes = [];
for (const one of CASES.filter(({ name }) => (process.argv[2] ?? name) === name)) {
	const started = performance.now();
	outcomes.push({ ...(await play(one)), took: Math.round(performance.now() - started) });
}
report(outcomes);
