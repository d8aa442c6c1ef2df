/** Connections whose entries the kernel keeps after their end (TIME_WAIT lasts two minutes), over many polls. */
import { FlowExporter } from '../../lib/index.ts';
import { flushKernel, kernelFlows, tcpEcho, tcpExchange, track, until } from '../support/kernel.ts';
import { ReadingCollector } from '../support/reading_collector.ts';
import { sumByFlow } from '../support/records.ts';
import { report } from '../support/report.ts';

track();
const collector = await new ReadingCollector().listen();
const exporter = new FlowExporter({
	collectors: [collector.url],
	pollInterval: 100,
	activeTimeout: 100,
	idleTimeout: 100,
});
await exporter.start();
const polls = async (count: number) => {
	const end = (exporter.stats().table?.polls ?? 0) + count;
	await until(`${count} more polls`, () => (exporter.stats().table?.polls ?? 0) >= end);
};
const tcp = await tcpEcho('127.0.0.1');
for (let number = 0; number < 30; number += 1) await tcpExchange('127.0.0.1', tcp.port, 1 + number * 1_000);
await polls(10);
const kernel = kernelFlows(collector.port);
const whileKept = [...sumByFlow(collector.records).values()];
flushKernel();
await polls(5);
await exporter.stop();
await collector.close();
report({ kernel, whileKept, afterwards: [...sumByFlow(collector.records).values()] });
