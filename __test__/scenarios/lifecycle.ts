/** Starts and stops in every order. */

import { readdirSync } from 'node:fs';
import { codeOf } from '../../lib/errors.ts';
import { FlowExporter } from '../../lib/index.ts';
import { collectGarbage } from '../support/garbage.ts';
import { track, until } from '../support/kernel.ts';

track();
const report: Record<string, unknown> = {};
const rejections: unknown[] = [];
process.on('unhandledRejection', (error) => rejections.push(String(error)));
const options = { pollInterval: 100, activeTimeout: 100, idleTimeout: 100 };
/** Open descriptors once the core's objects, which hold an eventfd each, are collected. */
const descriptors = async () => {
	await collectGarbage();
	return readdirSync('/proc/self/fd').length;
};

const twice = new FlowExporter(options);
const [first, second] = [twice.start(), twice.start()];
report['sameStart'] = first === second;
await twice.start();
report['running'] = twice.stats().state;
const [third, fourth] = [twice.stop(), twice.stop()];
report['sameStop'] = third === fourth;
await twice.stop();
report['stopped'] = twice.stats().state;
await twice.start();
report['startedAgain'] = twice.stats().state;
await twice.stop();

const early = new FlowExporter(options);
await early.stop();
report['stopBeforeStart'] = early.stats().state;

const during = new FlowExporter(options);
const starting = during.start();
await during.stop();
report['stopDuringStart'] = await starting.then(() => 'started', codeOf);
const again = new FlowExporter(options);
await again.start();
const ending = again.stop();
const next = again.start();
await again.stop();
report['stopOfAWaitingStart'] = await next.then(() => 'started', codeOf);
await ending;
const unheard = new FlowExporter(options);
void unheard.start();
await unheard.stop();

const aborted = new AbortController();
const withSignal = new FlowExporter({ ...options, signal: aborted.signal });
await withSignal.start();
aborted.abort();
await until('the signal has stopped it', () => withSignal.stats().state === 'stopped');
const tooLate = new FlowExporter({ ...options, signal: aborted.signal });
report['abortedBefore'] = await tooLate.start().then(
	() => 'started',
	(error: Error) => error.name,
);

const disposed = new FlowExporter(options);
await disposed.start();
await disposed[Symbol.asyncDispose]();
report['disposed'] = disposed.stats().state;

for (let round = 0; round < 3; round += 1) await cycle();
const before = await descriptors();
for (let round = 0; round < 100; round += 1) await cycle();
report['descriptorsLeaked'] = (await descriptors()) - before;

const waiting = new FlowExporter({ ...options, netns: '/nowhere/at/all' });
const warned = new Promise<string>((resolve) => waiting.once('warning', ({ code }) => resolve(code)));
const waitingStart = waiting.start();
report['waitsFor'] = await warned;
await waiting.stop();
report['stopWhileWaiting'] = await waitingStart.then(() => 'started', codeOf);

async function cycle() {
	const exporter = new FlowExporter(options);
	await exporter.start();
	await exporter.stop();
}
report['rejections'] = rejections;
console.log(JSON.stringify(report));
// No process.exit: nothing may keep the process alive now.
