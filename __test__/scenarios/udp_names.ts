/**
 * UDP to names: one whose address moves while the old host goes on in silence; one that has an address of each family,
 * with a collector on one of them that goes away and comes back; and a stop in the moment in which it is back.
 */
import { once } from 'node:events';
import { Collector, FlowExporter, type FlowRecord } from '../../lib/index.ts';
import { account } from '../support/account.ts';
import { setHosts } from '../support/hosts.ts';
import {
	COLLECTOR_PORT,
	flushKernel,
	kernelFlows,
	seen,
	sleep,
	track,
	unansweredFlows,
	until,
} from '../support/kernel.ts';
import { report } from '../support/report.ts';

track();
const OTHERS = [
	'::1 both.example',
	'127.0.0.1 both.example',
	'127.0.0.9 last.example',
	'127.0.0.1 last.example',
];
const MOVING_PORT = COLLECTOR_PORT + 1;
setHosts('127.0.0.2 moving.example', ...OTHERS);

async function listen(url: string) {
	const collector = new Collector({ listen: [url] });
	const records: FlowRecord[] = [];
	await collector.start();
	const reading = (async () => {
		for await (const batch of collector) records.push(...batch);
	})();
	return {
		records,
		close: async () => {
			await collector.stop();
			await reading;
			return collector.stats().malformed;
		},
	};
}
const options = { pollInterval: 100, activeTimeout: 100, idleTimeout: 100, protocols: ['udp'] };
const flows = () => kernelFlows(COLLECTOR_PORT, MOVING_PORT).filter(({ key }) => key.startsWith('udp'));

// The address moves. The old host takes datagrams and does nothing with them: it never refuses.
const old = await listen(`udp://127.0.0.2:${MOVING_PORT}`);
const next = await listen(`udp://127.0.0.3:${MOVING_PORT}`);
const moving = new FlowExporter({
	...options,
	collectors: [{ url: `udp://moving.example:${MOVING_PORT}`, templateRefreshPackets: 1 }],
});
const breaks: string[] = [];
moving.on('disconnect', ({ reason }) => breaks.push(reason));
await moving.start();
await until('it is open', () => moving.stats().collectors[0]?.state === 'open');
let sent = 0;
async function send(): Promise<void> {
	await unansweredFlows('127.0.0.1', 10, 10, '127.0.0.1');
	sent += 10;
}
await send();
await until('the old host has them', () => old.records.length > 0);
setHosts('127.0.0.3 moving.example', ...OTHERS);
while (next.records.length === 0) {
	if (sent > 3_000) throw new Error('it has not moved');
	await send();
	await sleep(100);
}
await seen(moving);
const movedFlows = flows();
await until('all are exported', () => moving.stats().exported.records >= movedFlows.length);
await moving.stop();
await sleep(100);
const malformed = (await old.close()) + (await next.close());
const moved = {
	account: account(movedFlows, [...old.records, ...next.records]),
	both: old.records.length > 0 && next.records.length > 0,
	malformed,
	breaks: breaks.filter((reason) => reason !== 'closed'),
	losses: moving.stats().losses,
};
flushKernel();

// Two addresses, of which one has a collector, at times.
const returned: Record<string, unknown> = {};
for (const address of ['127.0.0.1', '[::1]']) {
	const url = `udp://${address}:${COLLECTOR_PORT}`;
	const first = await listen(url);
	const exporter = new FlowExporter({ ...options, collectors: [`udp://both.example:${COLLECTOR_PORT}`] });
	const waits: Array<number | null> = [];
	exporter.on('disconnect', ({ retryInMs }) => waits.push(retryInMs));
	await exporter.start();
	await unansweredFlows('127.0.0.1', 10, 10, '127.0.0.1');
	await until('it decodes', () => first.records.length >= 10);
	await first.close();
	// Each poll has something to tell: it is refused sooner or later, and then asks again.
	while (waits.length < 5) {
		await unansweredFlows('127.0.0.1', 10, 10, '127.0.0.1');
		await sleep(50);
	}
	const again = await listen(url);
	const opened = exporter.stats().collectors[0]?.connections ?? 0;
	await until('it is open again', () => (exporter.stats().collectors[0]?.connections ?? 0) > opened);
	await unansweredFlows('127.0.0.1', 10, 10, '127.0.0.1');
	await until('it decodes again', () => again.records.length >= 10);
	await exporter.stop();
	returned[address] = {
		longestWait: Math.max(...waits.map((wait) => wait ?? 0)),
		malformed: await again.close(),
	};
	flushKernel();
}

// The last chance: the session waits for its next attempt, and the collector is back on the second address.
const impatient = new FlowExporter({
	...options,
	pollInterval: '1h',
	activeTimeout: '1h',
	idleTimeout: '1h',
	collectors: [{ url: `udp://last.example:${COLLECTOR_PORT}`, reconnect: { initial: '4s', max: '4s' } }],
});
const refused = once(impatient, 'disconnect');
await impatient.start();
await refused;
await unansweredFlows('127.0.0.1', 50, 10, '127.0.0.1');
const lastFlows = flows();
const back = await listen(`udp://127.0.0.1:${COLLECTOR_PORT}`);
await impatient.stop();
await until('they have arrived', () => back.records.length >= lastFlows.length, 5_000).catch(() => undefined);
await back.close();
report({
	moved,
	returned,
	last: { account: account(lastFlows, back.records), losses: impatient.stats().losses },
});
