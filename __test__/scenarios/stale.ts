/** Connections that end with no collector at all. */
import { FlowExporter, type LossSummary } from '../../lib/index.ts';
import { flushKernel, kernelFlows, track, udpEcho, udpFlows, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

track();
const exporter = new FlowExporter({
	collectors: [{ url: 'tcp://127.0.0.1:9', reconnect: { initial: 50, max: 100 } }],
	pollInterval: 100,
	activeTimeout: 200,
	idleTimeout: 200,
	staleTimeout: 500,
});
const told: LossSummary[] = [];
exporter.on('loss', (losses) => told.push(...losses));
await exporter.start();
const udp = await udpEcho('127.0.0.1');
await udpFlows('127.0.0.1', udp.port, 60, 200);
await until('all are in the table', () => exporter.stats().table?.connections === 60);
// The answers, too, must have been seen: what no poll saw cannot be counted.
const polls = exporter.stats().table?.polls ?? 0;
await until('two more polls', () => (exporter.stats().table?.polls ?? 0) >= polls + 2);
const kernel = kernelFlows(9);
flushKernel();
await until(
	'all have ended',
	() => exporter.stats().table?.ended === 60 || exporter.stats().table?.connections === 0,
);
await until('the table is empty', () => exporter.stats().table?.connections === 0);
await until('the loss is told', () => told.length > 0);
const { table, losses } = exporter.stats();
await exporter.stop();
report({ kernel, table, losses, told });
