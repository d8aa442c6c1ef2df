/**
 * Stops whose last poll fails: the name of the network namespace goes away between the first poll and the last, as it
 * does when a container ends. And one whose last poll never ends, as of a kernel that does not answer.
 */
import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { native } from '../../lib/core/native.ts';
import { FlowExporter } from '../../lib/index.ts';
import { account } from '../support/account.ts';
import { temporaryFolder } from '../support/folder.ts';
import { kernelFlows, track, unansweredFlows, until } from '../support/kernel.ts';
import { ReadingCollector } from '../support/reading_collector.ts';
import { report } from '../support/report.ts';

track();
const collector = await new ReadingCollector().listen();
const { records } = collector;
await unansweredFlows('127.0.0.1', 150, 20);
const kernel = kernelFlows().filter(({ key }) => key.startsWith('udp'));

/** The first poll sees all flows, and nothing is due before the stop. By default the grace outlasts the scenario. */
async function stop(to: string, spoil: (netns: string) => void = rmSync, gracePeriod = '10m') {
	const netns = join(temporaryFolder('netns'), 'name');
	symlinkSync('/proc/self/ns/net', netns);
	const exporter = new FlowExporter({
		collectors: [to],
		netns,
		protocols: ['udp'],
		initialDelta: 'total',
		pollInterval: '1m',
		activeTimeout: '1h',
		idleTimeout: '1h',
		gracePeriod,
	});
	const warnings: string[] = [];
	exporter.on('warning', ({ code, message }) => warnings.push(`${code}: ${message}`));
	await exporter.start();
	const before = exporter.stats();
	spoil(netns);
	let stopped = false;
	const stopping = exporter.stop().then(() => {
		stopped = true;
	});
	await until('it has stopped', () => stopped);
	await stopping;
	const { state, table, exported, batchesInFlight, losses } = exporter.stats();
	return {
		exportedBefore: before.exported.records,
		failedBefore: before.table?.pollFailures,
		failed: table?.pollFailures,
		state,
		exported: exported.records,
		batchesInFlight,
		losses,
		warnings,
	};
}

const away = await stop('tcp://127.0.0.1:1');
const there = await stop(collector.url);
await until('all has arrived', () => records.length >= 150);
const failed = records.splice(0);
const core = native().NativeExporter.prototype;
const { poll } = core;
const hung = await stop(
	collector.url,
	() => {
		core.poll = () => undefined;
	},
	'4s',
);
core.poll = poll;
await collector.close();
report({
	kernel: {
		records: kernel.length,
		packets: kernel.reduce((sum, flow) => sum + flow.packets, 0),
		octets: kernel.reduce((sum, flow) => sum + flow.octets, 0),
	},
	there: { ...there, account: account(kernel, failed) },
	away,
	hung: { ...hung, account: account(kernel, records) },
});
