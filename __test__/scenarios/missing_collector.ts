/** A collector that is not there while flows live, and then comes. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { Collector, FlowExporter, type FlowRecord } from '../../lib/index.ts';
import { COLLECTOR_PORT, kernelFlows, tcpEcho, track, udpEcho, udpFlows, until } from '../support/kernel.ts';
import { sumByFlow } from '../support/records.ts';
import { report } from '../support/report.ts';

track();
const url = `tcp://127.0.0.1:${COLLECTOR_PORT}`;
const exporter = new FlowExporter({
	collectors: [{ url, reconnect: { initial: 50, max: 200 } }],
	pollInterval: 100,
	activeTimeout: 300,
	idleTimeout: 300,
	staleTimeout: '1m',
});
let refusals = 0;
exporter.on('disconnect', () => {
	refusals += 1;
});
await exporter.start();
const startedWithout = exporter.stats().collectors[0]?.connections === 0;

const udp = await udpEcho('::1');
await udpFlows('::1', udp.port, 20, 100);
const tcp = await tcpEcho('127.0.0.1');
const live = Array.from({ length: 5 }, () => connect(tcp.port, '127.0.0.1'));
for (const socket of live) {
	socket.write('a line\n');
	await once(socket, 'data');
}
const polls = exporter.stats().table?.polls ?? 0;
await until('ten more polls', () => (exporter.stats().table?.polls ?? 0) >= polls + 10);
const away = exporter.stats();

const collector = new Collector({ listen: [url] });
const records: FlowRecord[] = [];
await collector.start();
const reading = (async () => {
	for await (const batch of collector) records.push(...batch);
})();
await until('every live flow arrived', () => sumByFlow(records).size >= 25);
const polledAt = exporter.stats().table?.polls ?? 0;
await until('ten more polls', () => (exporter.stats().table?.polls ?? 0) >= polledAt + 10);
const kernel = kernelFlows(COLLECTOR_PORT);
await exporter.stop();
await until('the session is read out', () => collector.stats().sessions === 0);
await collector.stop();
await reading;
const { losses } = exporter.stats();
report({
	startedWithout,
	refusals,
	away,
	kernel,
	exported: [...sumByFlow(records).values()],
	losses,
});
