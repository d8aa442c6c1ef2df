/**
 * Polls that are asked for, and resyncs that the kernel thread makes unasked because events were lost, mixed: a small
 * event buffer, and a second process (`storm`) that makes and ends connections faster than it holds. Whether the two meet
 * is not left to chance: every other unasked end is told late, while an asked one is waited for.
 */
import { spawn } from 'node:child_process';
import { type NativeExporter, type NativeNotice, native } from '../../lib/core/native.ts';
import { FlowExporter } from '../../lib/index.ts';
import { flushKernel, sleep, track, unansweredFlows, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

const POLLS = 30;
/** So long after an unasked end that was told late the asked one is: longer than from one poll to the next. */
const LATE = 300;

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
	/** Unasked ends while nothing was asked for, and while the end of what was is waited for. */
	between: 0,
	meanwhile: 0,
	/** Unasked ends that moved the scheduler's plan. */
	moved: 0,
	failed: 0,
};
/** An unasked end that is still to be told, and an asked one that waits behind it. */
let kept: NativeNotice | undefined;
let behind: NativeNotice | undefined;
let enough = false;
const core = native().NativeExporter.prototype;
const { poll, notices } = core;
core.poll = function () {
	seen.asked += 1;
	if (waiting > 0) seen.outOfTurn += 1;
	waiting += 1;
	poll.call(this);
};
core.notices = function () {
	const ends = told(this, notices.call(this));
	const plan = exporter.stats().pollIntervalEffective;
	let asked = false;
	for (const notice of ends) {
		if (notice.kind === 'pollFailed') seen.failed += 1;
		if (!isEnd(notice)) continue;
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
	return ends;
};

function isEnd({ kind }: NativeNotice): boolean {
	return kind === 'poll' || kind === 'pollFailed';
}

/** Of what the core says, what is told now. */
function told(core: NativeExporter, said: NativeNotice[]): NativeNotice[] {
	const now: NativeNotice[] = [];
	if (behind !== undefined && enough) {
		now.push(behind);
		behind = undefined;
	}
	for (const notice of said) {
		if (isEnd(notice) && !notice.asked && kept === undefined && seen.between > seen.meanwhile) {
			kept = notice;
		} else if (isEnd(notice) && notice.asked && kept !== undefined) {
			now.push(kept);
			kept = undefined;
			behind = notice;
			enough = false;
			setTimeout(() => {
				enough = true;
				// It says so afterwards, and the other one comes along.
				core.save();
			}, LATE);
		} else {
			now.push(notice);
		}
	}
	return now;
}

await exporter.start();
const storm = spawn(process.execPath, ['--import=tsx', import.meta.filename, 'storm'], { stdio: 'ignore' });
for (let polls = 10; polls <= POLLS; polls += 10)
	await until(`${polls} polls were asked for`, () => seen.askedEnds >= polls);
// Unasked ends come when events were lost: how often is the machine's to say.
for (let meetings = 1; meetings <= 3; meetings += 1)
	await until(
		'unasked ends came in either place',
		() => seen.between >= meetings && seen.meanwhile >= meetings,
		100_000,
	);
storm.kill();
await exporter.stop();
report({ ...seen, waiting, overruns: exporter.stats().table?.eventOverruns });
