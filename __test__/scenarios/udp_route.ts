/** A UDP collector that is not on this machine: no route to it at first, then one, to an address that is not ours. */
import { FlowExporter } from '../../lib/index.ts';
import { account } from '../support/account.ts';
import { kernelFlows, run, seen, track, unansweredFlows, until } from '../support/kernel.ts';
import { ReadingCollector } from '../support/reading_collector.ts';
import { report } from '../support/report.ts';

const ELSEWHERE = '192.0.2.1';
const PORT = 4739;

track();
const collector = await new ReadingCollector('udp').listen();
const { records } = collector;
const exporter = new FlowExporter({
	collectors: [{ url: `udp://${ELSEWHERE}:${PORT}`, reconnect: { initial: 50, max: 100 } }],
	exclude: [`${ELSEWHERE}/32`],
	pollInterval: 100,
	activeTimeout: 100,
	idleTimeout: '1m',
});
const reasons: string[] = [];
exporter.on('disconnect', ({ reason }) => reasons.push(reason));
await exporter.start();
await until('it has tried again', () => reasons.length >= 3);
const away = { reasons: [...new Set(reasons)], state: exporter.stats().collectors[0]?.state };

// What is sent there is taken elsewhere, as by a load balancer: here to the collector on loopback.
run('ip', 'route', 'add', `${ELSEWHERE}/32`, 'dev', 'lo', 'src', '127.0.0.1');
run('nft', 'add table ip balance');
run('nft', 'add chain ip balance out { type nat hook output priority -100; }');
run(
	'nft',
	`add rule ip balance out ip daddr ${ELSEWHERE} udp dport ${PORT} dnat to 127.0.0.1:${collector.port}`,
);
await until('it is open', () => exporter.stats().collectors[0]?.state === 'open');
await unansweredFlows('127.0.0.1', 100, 10);
await seen(exporter);
const kernel = kernelFlows(PORT).filter(({ key }) => key.startsWith('udp'));
await until('all is sent', () => exporter.stats().exported.records >= 100);
await exporter.stop();
await until('all has arrived', () => records.length >= 100);
report({ away, account: account(kernel, records), losses: exporter.stats().losses });
