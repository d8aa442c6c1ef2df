/** Starts and stops in every order. */

import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../lib/errors.ts';
import { Collector, FlowExporter } from '../../lib/index.ts';
import { temporaryFolder } from '../support/folder.ts';
import { collectGarbage } from '../support/garbage.ts';
import { run, track, unansweredFlows, until } from '../support/kernel.ts';

track();
const report: Record<string, unknown> = {};
const rejections: unknown[] = [];
process.on('unhandledRejection', (error) => rejections.push(String(error)));
const options = { pollInterval: 100, activeTimeout: 100, idleTimeout: 100 };
/** On a busy machine a poll may take long, and that is said; it is not what this is about. */
const withoutStretched = (codes: readonly string[]) => codes.filter((code) => code !== 'POLL_STRETCHED');
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
// Stops and starts in one turn: what counts is the last word.
const calledOff = new FlowExporter(options);
await calledOff.start();
const off = [calledOff.stop(), calledOff.start().catch(codeOf), calledOff.stop()];
report['calledOff'] = (await Promise.all(off))[1];
await calledOff.start();
report['startAfterCalledOff'] = calledOff.stats().state;
const lastWord = [calledOff.stop(), calledOff.start().catch(codeOf), calledOff.stop(), calledOff.start()];
report['lastWord'] = [(await Promise.all(lastWord))[1], calledOff.stats().state];
await calledOff.stop();
const restarted = new FlowExporter(options);
const [given, , anew] = [restarted.start().catch(codeOf), restarted.stop(), restarted.start()];
report['givenUp'] = await given;
report['sameStartAnew'] = restarted.start() === anew;
await anew;
report['startedAnew'] = restarted.stats().state;
await restarted.stop();

// What is refused at the start is told, too, and a start that is waited for rejects.
const wrong = new FlowExporter({ ...options, stateFile: '/nowhere/state' });
const told: unknown[] = [];
wrong.on('error', (error) => told.push(codeOf(error)));
report['refusedStart'] = [await wrong.start().catch(codeOf), told, wrong.stats().state];

// A state file that could never be written is said at the start, not at the end.
const locked = temporaryFolder('state');
run('mount', '-t', 'tmpfs', '-o', 'ro', 'tmpfs', locked);
const refusals: unknown[] = [];
for (const stateFile of [`${locked}/gone/state`, '/dev/null/state', `${locked}/state`, locked]) {
	const exporter = new FlowExporter({ ...options, stateFile });
	exporter.on('error', () => undefined);
	const message = await exporter.start().catch((error: Error) => `${codeOf(error)} ${error.message}`);
	refusals.push([message?.replaceAll(locked, 'LOCKED'), exporter.stats().state]);
}
run('umount', locked);
report['refusedStateFiles'] = refusals;

// What would run and export nothing says so.
const silent = new FlowExporter({ ...options, collectors: [], zones: [7] });
const silence: string[] = [];
silent.on('warning', ({ code }) => note(silence, code));
await unansweredFlows('127.0.0.1', 3, 10);
await silent.start();
report['exportsNothing'] = withoutStretched(silence);
await silent.stop();

// A listener that throws does not keep a session from trying again.
const uncaught: string[] = [];
process.on('uncaughtException', ({ message }) => uncaught.push(message));
const away = { url: 'tcp://127.0.0.1:1', reconnect: { initial: 50, max: 50 } };
const misheard = new FlowExporter({ ...options, collectors: [away] });
misheard.on('disconnect', () => {
	throw new Error('a listener');
});
await misheard.start();
await until('it has tried again', () => uncaught.length >= 3);
await misheard.stop();
// Nor the embedded collector from reading on.
const misread = new Collector({ files: ['/dev/null', '/dev/null'] });
let heard = 0;
misread.on('connect', () => {
	heard += 1;
	throw new Error('another listener');
});
for await (const _ of misread);
report['heard'] = heard;
report['uncaught'] = [...new Set(uncaught)];
process.removeAllListeners('uncaughtException');

// A file whose folder is removed: what was in it is not exported, and the stop goes on to its end.
const folder = temporaryFolder('gone');
const file = new FlowExporter({ ...options, collectors: [`file:${join(folder, 'flows.ipfix')}`] });
const warnings: string[] = [];
const reasons: string[] = [];
file.on('warning', ({ code }) => note(warnings, code));
file.on('disconnect', ({ reason }) => reasons.push((reason.split(':', 1)[0] ?? '').replace(folder, 'GONE')));
const opened = once(file, 'connect');
await file.start();
await opened;
await unansweredFlows('127.0.0.1', 10, 10);
rmSync(folder, { recursive: true });
await file.stop();
report['folderGone'] = {
	warnings: withoutStretched(warnings),
	reasons,
	// Its last numbers are taken after all else.
	exported: file.stats().table?.recordsCommitted,
	collector: file.stats().collectors[0]?.state,
};

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

const waiting = new FlowExporter({ ...options, collectors: [away], netns: '/nowhere/at/all' });
const warned = new Promise<string>((resolve) => waiting.once('warning', ({ code }) => resolve(code)));
const waitingStart = waiting.start();
report['waitsFor'] = await warned;
await waiting.stop();
report['stopWhileWaiting'] = await waitingStart.then(() => 'started', codeOf);

/** A machine that has much else to do stretches polls, and says so, at any time. */
function note(codes: string[], code: string) {
	if (code !== 'POLL_STRETCHED') codes.push(code);
}

async function cycle() {
	const exporter = new FlowExporter(options);
	await exporter.start();
	await exporter.stop();
}
report['rejections'] = rejections;
console.log(JSON.stringify(report));
// No process.exit: nothing may keep the process alive now.
