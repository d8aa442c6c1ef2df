/**
 * Polls that are asked for, and resyncs that the kernel thread makes unasked because events were lost, mixed: a small
 * event buffer, and a second process (`storm`) that makes and ends connections faster than it holds.
 */
import { spawn } from 'node:child_process';
import { native } from '../../lib/core/native.ts';
import { FlowExporter } from '../../lib/index.ts';
import { flushKernel, sleep, track, unansweredFlows, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

const POLLS = 120;

if (process.argv[2] === 'storm') {
	const parent = process.ppid;
	while (process.ppid === parent) {
		await unansweredFlows('127.0.0.1', 2_000, 10);
		flushKernel();
		await sleep(5);
	}
	process.exit();
}

track();
const exporter = new FlowExporter({
	source: 'events',
	eventBufferSize: 4096,
	pollInterval: 100,
	resyncInterval: 150,
	maxPollShare: 1,
	staleTimeout: 200,
});

/** Calls of the core's `poll()` that wait for their end, and what came of them. */
let waiting = 0;
const seen = {
	asked: 0,
	askedEnds: 0,
	/** Asked for while another one that was asked for had not ended, or ended without being asked for. */
	outOfTurn: 0,
	/** Unasked ends while nothing was asked for, and before the end of what was. */
	between: 0,
	meanwhile: 0,
	/** Unasked ends that moved the scheduler's plan. */
	moved: 0,
	failed: 0,
};
const core = native().NativeExporter.prototype;
const { poll, notices } = core;
core.poll = function () {
	seen.asked += 1;
	if (waiting > 0) seen.outOfTurn += 1;
	waiting += 1;
	poll.call(this);
};
core.notices = function () {
	const told = notices.call(this);
	const plan = exporter.stats().pollIntervalEffective;
	let asked = false;
	for (const notice of told) {
		if (notice.kind === 'pollFailed') seen.failed += 1;
		if (notice.kind !== 'poll' && notice.kind !== 'pollFailed') continue;
		if (notice.asked) {
			asked = true;
			seen.askedEnds += 1;
			if (waiting !== 1) seen.outOfTurn += 1;
			waiting -= 1;
		} else if (waiting > 0) {
			seen.meanwhile += 1;
		} else {
			seen.between += 1;
		}
	}
	if (!asked)
		queueMicrotask(() => {
			if (exporter.stats().pollIntervalEffective !== plan) seen.moved += 1;
		});
	return told;
};

await exporter.start();
const storm = spawn(process.execPath, ['--import=tsx', import.meta.filename, 'storm'], { stdio: 'ignore' });
for (let polls = 30; polls <= POLLS; polls += 30)
	await until(`${polls} polls were asked for`, () => seen.askedEnds >= polls);
// How often the two meet is the machine's to say.
await until('both kinds came in every order', () => seen.between >= 3 && seen.meanwhile >= 1, 100_000);
storm.kill();
await exporter.stop();
report({ ...seen, waiting, overruns: exporter.stats().table?.eventOverruns });
