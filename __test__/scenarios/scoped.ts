/** A collector at a link-local address, which means something only together with its link. */
import { Collector, FlowExporter } from '../../lib/index.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { kernelFlows, run, track, unansweredFlows, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

track();
run('ip', 'link', 'add', 'link0', 'type', 'veth', 'peer', 'name', 'peer0');
run('ip', 'link', 'set', 'peer0', 'up');
run('ip', 'link', 'set', 'link0', 'up');
run('ip', '-6', 'address', 'add', 'fe80::4739/64', 'dev', 'link0', 'nodad');

const authority = makeAuthority('link');
const collector = new Collector({
	listen: ['tcp', 'udp', 'tls'].map((kind) => `${kind}://[fe80::4739%link0]:0`),
	...makeCertificate(authority, 'fe80::4739'),
});
await collector.start();
const ports = new Set<unknown>(collector.addresses.map((url) => Number(/\d+$/.exec(url)?.[0])));
const received: Array<Record<string, unknown>> = [];
const reading = (async () => {
	for await (const records of collector) received.push(...records);
})();

const exporter = new FlowExporter({
	collectors: collector.addresses.map((url) => (url.startsWith('tls') ? { url, ca: authority.cert } : url)),
	delivery: 'all',
	pollInterval: 100,
	activeTimeout: 100,
	idleTimeout: 100,
	initialDelta: 'total',
});
const reasons: string[] = [];
exporter.on('disconnect', ({ reason }) => reasons.push(reason));
await exporter.start();
await until('all are open', () => exporter.stats().collectors.every(({ state }) => state === 'open'));
await unansweredFlows('127.0.0.1', 5, 1);
await until('all have the flows', () =>
	exporter.stats().collectors.every(({ exportedRecords }) => exportedRecords >= 5),
);
await until('a few more polls were seen', () => (exporter.stats().table?.polls ?? 0) > 5);
const { collectors } = exporter.stats();
await exporter.stop();
await collector.stop();
await reading;
report({
	listening: collector.addresses,
	names: collectors.map(({ name }) => name.replace(/\d+$/, 'PORT')),
	states: collectors.map(({ state }) => state),
	reasons: reasons.filter((reason) => reason !== 'closed'),
	flows: received.filter(({ destinationIPv4Address }) => destinationIPv4Address === '127.0.0.1').length >= 15,
	tracked: kernelFlows().filter(({ key }) => key.includes('fe80::4739')).length,
	own: received.filter((record) => ports.has(record['destinationTransportPort'])).length,
});
