/** What the metrics server says before the first poll, afterwards, and what the exporter itself counted. */
import { codeOf } from '../../lib/errors.ts';
import { serveMetrics } from '../../lib/http/server.ts';
import { Collector, FlowExporter } from '../../lib/index.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { FaultyCollector } from '../support/faulty_collector.ts';
import { flushKernel, kernelFlows, sleep, track, unansweredFlows, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

track();
const collector = new Collector({ listen: ['tcp://127.0.0.1:0'] });
await collector.start();
void (async () => {
	for await (const _ of collector);
})();
const exporter = new FlowExporter({
	collectors: [
		{ url: collector.addresses[0] ?? '', name: 'one' },
		{ url: 'tcp://127.0.0.1:9', name: 'away' },
	],
	// Not the requests to the metrics server.
	protocols: ['udp'],
	delivery: 'all',
	pollInterval: 100,
	activeTimeout: '1m',
	idleTimeout: '1m',
});
const metrics = await serveMetrics(exporter, { host: '127.0.0.1', port: 0 });
const get = async (path: string) => {
	const response = await fetch(`http://${metrics.address}${path}`);
	return { status: response.status, text: await response.text() };
};
const before = {
	ready: await get('/readyz'),
	healthy: await get('/healthz'),
	metrics: await get('/metrics'),
};
const refusal = (host: string, port: number) =>
	serveMetrics(exporter, { host, port }).then(
		() => ['bound', ''],
		(error: Error) => [codeOf(error), error.message],
	);
const unbound = {
	taken: await refusal('127.0.0.1', Number(metrics.address.split(':').at(-1))),
	foreign: await refusal('192.0.2.1', 9),
};
const datagrams = await serveMetrics(
	new FlowExporter({ collectors: [{ url: 'udp://127.0.0.1', name: 'u' }], whenFull: 'evict-idle' }),
	{ host: '127.0.0.1', port: 0 },
);
const udp = await (await fetch(`http://${datagrams.address}/metrics`)).text();
await datagrams.close();
await exporter.start();
await unansweredFlows('127.0.0.1', 50, 10);
await until('they are in the table', () => (exporter.stats().table?.connections ?? 0) >= 50);
const kernel = kernelFlows().filter(({ key }) => key.startsWith('udp'));
flushKernel();
await until('all is exported', () => exporter.stats().exported.records >= 50);
const after = {
	ready: await get('/readyz'),
	healthy: await get('/healthz'),
	status: await get('/status'),
	metrics: await get('/metrics'),
	wrong: await get('/nothing'),
};
await exporter.stop();
await metrics.close();

// The antrea profile, over TLS.
const ca = makeAuthority('metrics');
const secure = await new FaultyCollector([], {
	...makeCertificate(ca, 'collector.example'),
	ca: ca.cert,
	requestCert: true,
}).listen();
const antrea = new FlowExporter({
	collectors: [
		{
			...{ url: secure.url, name: 'secure', serverName: 'collector.example' },
			...{ ca: ca.cert, ...makeCertificate(ca, 'agent', { to: '20991231000000Z' }) },
		},
	],
	profile: 'antrea',
	pollInterval: 100,
});
const antreaMetrics = await serveMetrics(antrea, { host: '127.0.0.1', port: 0 });
await antrea.start();
await until('it is open', () => antrea.stats().collectors[0]?.state === 'open');
await sleep(300);
const page = await (await fetch(`http://${antreaMetrics.address}/metrics`)).text();
await antrea.stop();
await antreaMetrics.close();
report({
	antrea: page,
	certificateEnds: Date.UTC(2099, 11, 31) / 1_000,
	before,
	unbound,
	udp,
	after,
	octets: kernel.reduce((sum, flow) => sum + flow.octets, 0),
});
