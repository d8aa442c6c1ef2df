/** A disk that hangs in fsync from some moment on, beside a collector over TCP; every file is rotated all the time. */
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { FlowExporter } from '../../lib/index.ts';
import { account } from '../support/account.ts';
import { temporaryFolder } from '../support/folder.ts';
import { flushKernel, kernelFlows, seen, track, unansweredFlows, until } from '../support/kernel.ts';
import { ReadingCollector } from '../support/reading_collector.ts';
import { report } from '../support/report.ts';

track();
const folder = temporaryFolder('disk');
const handle = await open('/dev/null');
const handles = Object.getPrototypeOf(handle) as FileHandle;
await handle.close();

async function begin(delivery: 'all' | 'failover') {
	const collector = await new ReadingCollector().listen();
	const file = {
		url: `file:${join(folder, `${delivery}.ipfix`)}`,
		rotate: { interval: 300 },
		flushInterval: 100,
	};
	const exporter = new FlowExporter({
		delivery,
		collectors: [file, collector.url],
		protocols: ['udp'],
		pollInterval: 100,
		activeTimeout: 100,
		idleTimeout: 100,
		gracePeriod: '8s',
	});
	const reasons: string[] = [];
	exporter.on('disconnect', ({ reason }) => reasons.push(reason));
	await exporter.start();
	await until('both are open', () => exporter.stats().collectors.every(({ state }) => state === 'open'));
	return { collector, exporter, reasons };
}
const both = [await begin('all'), await begin('failover')] as const;
const [all, failover] = both;
await unansweredFlows('127.0.0.1', 50, 10, '127.0.0.1');
await until('the file has them', () => failover.exporter.stats().exported.records >= 50);
handles.datasync = () => new Promise(() => undefined);
handles.sync = () => new Promise(() => undefined);

async function flows(count: number) {
	await unansweredFlows('127.0.0.1', count, 20, '127.0.0.1');
	await Promise.all(both.map(({ exporter }) => seen(exporter)));
}
await flows(300);
const kernel = () => kernelFlows().filter(({ key }) => key.startsWith('udp'));
const lacks = ({ collector }: typeof all) => account(kernel(), collector.records).missing.flows;
await until('all: the other has everything', () => lacks(all) === 0);
await until('failover: the other has what was not safe', () => lacks(failover) <= 50);
await flows(300);
await until('all: the other still has everything', () => lacks(all) === 0);
await until('failover: and all that came later', () => lacks(failover) <= 50);
await until('nothing is in flight', () =>
	both.every(({ exporter }) => exporter.stats().batchesInFlight === 0),
);
const outcomeOf = ({ exporter, reasons }: typeof all) => ({
	reasons: [...new Set(reasons)].filter((reason) => reason !== 'closed'),
	losses: exporter.stats().losses.filter(({ collector }) => collector === null),
});
const outcome = { all: outcomeOf(all), failover: outcomeOf(failover) };
await Promise.all(both.map(({ exporter }) => exporter.stop()));

// A stop while the disk hangs: the other collector still gets what is not safe.
flushKernel();
const last = await begin('failover');
await unansweredFlows('127.0.0.1', 100, 20, '127.0.0.1');
await until('the file has taken them', () => last.exporter.stats().batchesInFlight > 0);
await last.exporter.stop();
await last.collector.close();
const missing = account(kernel(), last.collector.records).missing.flows;
report({ ...outcome, stopped: { ...outcomeOf(last), missing } });
