/** Connections that live and end between two polls, told by the kernel's events. */
import { Collector, FlowExporter, type FlowRecord } from '../../lib/index.ts';
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
const own = Number(new URL(collector.addresses[0] ?? '').port);
const kernel = kernelFlows(own);
const polls = exporter.stats().table?.polls;
flushKernel();
await until('all are exported', () => exporter.stats().exported.records >= kernel.length);
const between = exporter.stats().table?.polls === polls;
await exporter.stop();
await until('the session is read out', () => collector.stats().sessions === 0);
await collector.stop();
await reading;
udp.close();
report({ kernel, between, flows: [...sumByFlow(records).values()] });
