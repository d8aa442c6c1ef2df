/** The README's example of setPods as it stands there, with a connection in the table before it begins. */
import { readFileSync } from 'node:fs';
import { Collector, FlowExporter, type FlowRecord } from '../../lib/index.ts';
import { run, track, udpEcho, udpExchange, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const example =
	[...readme.matchAll(/```js\n([\s\S]*?)```/g)].find(([, code]) => code?.includes('setPods('))?.[1] ?? '';

track();
run('ip', 'address', 'add', '10.10.0.5/32', 'dev', 'lo');
const echo = await udpEcho('10.10.0.5');
await udpExchange('10.10.0.5', echo.port, 1, 10);

const collector = new Collector({ listen: ['tcp://127.0.0.1:0'] });
await collector.start();
const records: FlowRecord[] = [];
const reading = (async () => {
	for await (const batch of collector) records.push(...batch);
})();
const address = (collector.addresses[0] ?? '').replace('tcp://', '');
const code = example
	.replace('collector.example:4739', address)
	.replace('pods: []', "pods: [], protocols: ['udp'], initialDelta: 'total'");
const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor;
const exporter: FlowExporter = await new AsyncFunction('FlowExporter', `${code}\nreturn exporter;`)(
	FlowExporter,
);
await until('the session is open', () => exporter.stats().collectors[0]?.state === 'open');
await exporter.stop();
await until('the session is read out', () => collector.stats().sessions === 0);
await collector.stop();
await reading;
report(records.map(({ sourcePodName, sourcePodNamespace }) => [sourcePodName, sourcePodNamespace]));
