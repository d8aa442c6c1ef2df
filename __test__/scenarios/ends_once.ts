/** Connections whose entries the kernel keeps after their end (TIME_WAIT lasts two minutes), over many polls. */
import { Collector, FlowExporter, type FlowRecord } from '../../lib/index.ts';
import { flushKernel, kernelFlows, tcpEcho, tcpExchange, track, until } from '../support/kernel.ts';
import { sumByFlow } from '../support/records.ts';
import { report } from '../support/report.ts';

track();
const collector = new Collector({ listen: ['tcp://127.0.0.1:0'] });
await collector.start();
const records: FlowRecord[] = [];
const reading = (async () => {
	for await (const batch of collector) records.push(...batch);
})();
const exporter = new FlowExporter({
	collectors: collector.addresses,
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
const own = Number(new URL(collector.addresses[0] ?? '').port);
const kernel = kernelFlows(own);
const whileKept = [...sumByFlow(records).values()];
flushKernel();
await polls(5);
await exporter.stop();
await until('the session is read out', () => collector.stats().sessions === 0);
await collector.stop();
await reading;
report({ kernel, whileKept, afterwards: [...sumByFlow(records).values()] });
