/** Two kinds of collectors at once that nobody acknowledges: UDP, first away, and a file. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Collector, FlowExporter, type FlowRecord } from '../../lib/index.ts';
import { flushKernel, kernelFlows, sleep, track, unansweredFlows, until } from '../support/kernel.ts';
import { sumByFlow } from '../support/records.ts';
import { report } from '../support/report.ts';

track();
const reserved = createSocket('udp4').bind(0, '127.0.0.1');
await once(reserved, 'listening');
const { port } = reserved.address();
reserved.close();
await once(reserved, 'close');

const folder = mkdtempSync(join(tmpdir(), 'file-'));
const file = join(folder, 'flows.ipfix');
const udp = `udp://127.0.0.1:${port}`;
const reasons: string[] = [];
const exporter = new FlowExporter({
	collectors: [{ url: udp, reconnect: { initial: 50, max: 100 } }, `file:${file}`],
	delivery: 'all',
	pollInterval: 100,
	activeTimeout: '1m',
	idleTimeout: '1m',
});
exporter.on('disconnect', ({ reason }) => reasons.push(reason));
await exporter.start();
await until('the datagrams are refused', () => reasons.some((reason) => reason.includes('refused')));

await unansweredFlows('127.0.0.1', 200, 10);
await until('they are in the table', () => exporter.stats().table?.connections === 200);
const first = kernelFlows(port);
flushKernel();
await until('the file has them', () => exporter.stats().exported.records === 200);

const collector = new Collector({ listen: [udp] });
await collector.start();
const records: FlowRecord[] = [];
const reading = (async () => {
	for await (const batch of collector) records.push(...batch);
})();
await until('UDP is open', () => exporter.stats().collectors[0]?.state === 'open');
await sleep(100);
await unansweredFlows('127.0.0.1', 1_000, 20);
await until('they are in the table', () => (exporter.stats().table?.connections ?? 0) >= 1_000);
const second = kernelFlows(port);
flushKernel();
await until('both have them', () => exporter.stats().exported.records === 1_200);
const during = readdirSync(folder);
await exporter.stop();
await sleep(100);
await collector.stop();
await reading;
const filed: FlowRecord[] = [];
for await (const batch of new Collector({ files: [file] })) filed.push(...batch);
const { collectors, losses } = exporter.stats();
report({
	first,
	second,
	during,
	after: readdirSync(folder),
	collectors,
	losses,
	malformed: collector.stats().malformed,
	overUdp: [...sumByFlow(records).values()],
	inFile: [...sumByFlow(filed).values()],
});
