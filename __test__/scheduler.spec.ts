import { mock } from 'node:test';
import test from 'ava';
import { PollScheduler } from '../lib/exporter/scheduler.ts';

const turn = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

test.serial('a poll never overlaps another, however long it takes', async (t) => {
	let under = 0;
	let most = 0;
	let polls = 0;
	const scheduler: PollScheduler = new PollScheduler({
		interval: 5,
		maxPollShare: 1,
		poll: () => {
			polls += 1;
			under += 1;
			most = Math.max(most, under);
			setTimeout(() => {
				under -= 1;
				scheduler.finished(true, 20);
			}, 20);
		},
	});
	scheduler.start();
	scheduler.start();
	await turn(200);
	scheduler.stop();
	await scheduler.last();
	t.is(most, 1);
	t.is(under, 0);
	t.true(polls >= 2);
	const after = polls;
	await turn(60);
	t.is(polls, after, 'none after the last');
});

/** Ends one poll after another, each as given, and tells the planned time between starts after each. */
function planned(
	options: { interval: number; retryInterval?: number; random?: () => number },
	...outcomes: Array<[ok: boolean, durationMs: number]>
) {
	mock.timers.enable({ apis: ['setTimeout'] });
	let stretched = 0;
	const scheduler = new PollScheduler({
		maxPollShare: 0.2,
		random: () => 1,
		poll: () => undefined,
		stretched: () => {
			stretched += 1;
		},
		...options,
	});
	scheduler.start();
	// No time passes within a poll here: what is planned is the pause alone.
	const plan = outcomes.map(([ok, durationMs]) => {
		scheduler.finished(ok, durationMs);
		mock.timers.tick(scheduler.effectiveInterval + 1);
		return Math.round(scheduler.effectiveInterval / 100) * 100;
	});
	scheduler.stop();
	mock.timers.reset();
	return { plan, stretched };
}

test.serial(
	'after a poll of 2.1 s the next begins 8.4 s later, as polls may take a fifth; it is told once',
	(t) => {
		t.deepEqual(planned({ interval: 5_000 }, [true, 2_100], [true, 2_100], [true, 200]), {
			plan: [8_400, 8_400, 4_800],
			stretched: 1,
		});
	},
);

test.serial('failures double the interval up to a minute, and a success ends it at once', (t) => {
	const failed: [boolean, number] = [false, 10];
	t.deepEqual(
		planned({ interval: 5_000 }, failed, failed, failed, failed, failed, [true, 0]).plan,
		[10_000, 20_000, 40_000, 60_000, 60_000, 5_000],
	);
});

test.serial('jitter takes up to a quarter off the backoff', (t) => {
	t.deepEqual(planned({ interval: 4_000, random: () => 0 }, [false, 10]).plan, [6_000]);
});

test.serial('an interval above a minute is not shortened by a failure', (t) => {
	t.deepEqual(planned({ interval: 300_000 }, [false, 10]).plan, [300_000]);
});

test.serial('failures count from the retry interval, however far apart polls are otherwise', (t) => {
	const failed: [boolean, number] = [false, 10];
	t.deepEqual(
		planned({ interval: 300_000, retryInterval: 5_000 }, failed, failed, failed, failed, [true, 0]).plan,
		[10_000, 20_000, 40_000, 60_000, 300_000],
	);
});
