/** Connections that live and end between two polls, told by the kernel's events. */
import { FlowExporter } from '../../lib/index.ts';
import {
	flushKernel,
	kernelFlows,
	sleep,
	tcpEcho,
	tcpExchange,
	track,
	udpEcho,
	udpExchange,
	until,
} from '../support/kernel.ts';
import { ReadingCollector } from '../support/reading_collector.ts';
import { sumByFlow } from '../support/records.ts';
import { report } from '../support/report.ts';

track();
const collector = await new ReadingCollector().listen();
const exporter = new FlowExporter({
	collectors: [collector.url],
	source: 'events',
	pollInterval: '1m',
	activeTimeout: '1m',
	idleTimeout: '1m',
});
await exporter.start();
const [tcp, udp] = [await tcpEcho('127.0.0.1'), await udpEcho('::1')];
for (let number = 0; number < 10; number += 1) {
	await tcpExchange('127.0.0.1', tcp.port, 1 + number * 1_000);
	await udpExchange('::1', udp.port, 1 + number, 100);
}
// The last acknowledgements.
await sleep(100);
const kernel = kernelFlows(collector.port);
const polls = exporter.stats().table?.polls;
flushKernel();
await until('all are exported', () => exporter.stats().exported.records >= kernel.length);
const between = exporter.stats().table?.polls === polls;
await exporter.stop();
await collector.close();
udp.close();
report({ kernel, between, flows: [...sumByFlow(collector.records).values()] });
