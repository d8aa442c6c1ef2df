/** Traffic of every kind, then the kernel's own count of it, then its end: what was exported of each. */
import { FlowExporter } from '../../lib/index.ts';
import {
	flushKernel,
	kernelFlows,
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
	pollInterval: 200,
	activeTimeout: 400,
	idleTimeout: 600,
	// On a busy machine polls take long.
	maxPollShare: 1,
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
// Each flow once, because it closed or rests: some are exported in parts, before their end.
await until(
	'each flow was exported',
	() => exporter.stats().exported.records >= kernelFlows(collector.port).length,
);
const kernel = kernelFlows(collector.port);
const kernelOwn = kernelFlows().length - kernel.length;
flushKernel();
const polls = exporter.stats().table?.polls ?? 0;
await until('two more polls', () => (exporter.stats().table?.polls ?? 0) >= polls + 2);
await until('all ends are exported', () => exporter.stats().table?.connections === 0);
await exporter.stop();
await collector.close();
for (const server of servers) server.close();
const { losses, table } = exporter.stats();
report({
	kernel,
	kernelOwn,
	exported: [...sumByFlow(collector.records).values()],
	losses,
	left: table?.connections,
});
