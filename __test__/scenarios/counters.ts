/** Traffic of every kind, then the kernel's own count of it, then its end: what was exported of each. */
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
	pollInterval: 200,
	activeTimeout: 400,
	idleTimeout: 600,
});
await exporter.start();

const servers = [];
for (const address of ['127.0.0.1', '::1']) {
	const tcp = await tcpEcho(address);
	const udp = await udpEcho(address);
	servers.push(tcp.server, udp);
	await Promise.all([
		...[1, 5_000, 300_000].map((octets) => tcpExchange(address, tcp.port, octets)),
		udpExchange(address, udp.port, 1, 1),
		udpExchange(address, udp.port, 40, 700),
	]);
}
// Longer than the active and idle timeouts: some flows are exported in parts.
await sleep(1_000);
const own = Number(new URL(collector.addresses[0] ?? '').port);
const kernel = kernelFlows(own);
const kernelOwn = kernelFlows().length - kernel.length;
flushKernel();
const polls = exporter.stats().table?.polls ?? 0;
await until('two more polls', () => (exporter.stats().table?.polls ?? 0) >= polls + 2);
await exporter.stop();
await until('the session is read out', () => collector.stats().sessions === 0);
await collector.stop();
await reading;
for (const server of servers) server.close();
const { losses, table } = exporter.stats();
report({
	kernel,
	kernelOwn,
	exported: [...sumByFlow(records).values()],
	losses,
	left: table?.connections,
});
