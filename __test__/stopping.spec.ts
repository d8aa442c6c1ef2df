import test from 'ava';
import type { ExporterStats } from '../lib/index.ts';
import type { Account } from './support/account.ts';
import { inNamespace } from './support/namespace.ts';

interface Report {
	finalPoll: { account: Account; reasons: number[] };
	stateful: { account: Account; runs: number[] };
	leftAtStop: {
		kernel: { records: number; packets: number; octets: number };
		losses: ExporterStats['losses'];
		warnings: string[];
	};
	signals: {
		afterHangUp: number | null;
		afterCopies: number | null;
		second: [number | null, string | null];
		once: [number | null, string | null];
		unread: [number | null, string | null];
		unreadSaid: boolean;
		left: boolean;
	};
}

const result = inNamespace<Report>('stopping');
const COMPLETE = { repeats: 0, missing: { flows: 0, packets: 0, octets: 0 }, invented: [] };

test('a stop polls once more and sends what it finds, with reason 4', async (t) => {
	const { account, reasons } = (await result).finalPoll;
	t.like(account, { flows: 200, records: 200, ...COMPLETE });
	t.deepEqual(reasons, [4]);
});

test('with a state file two runs and the pause between them add up to what the kernel counted', async (t) => {
	const { account, runs } = (await result).stateful;
	t.like(account, { flows: 1, ...COMPLETE });
	t.deepEqual(runs, [1, 2]);
});

test('what cannot be sent before the grace period ends is counted and said', async (t) => {
	const { kernel, losses, warnings } = (await result).leftAtStop;
	t.is(kernel.records, 150);
	t.deepEqual(losses, [{ reason: 'left_at_stop', collector: null, ...kernel }]);
	t.is(warnings.length, 1);
	t.regex(warnings[0] ?? '', /150 records \(150 packets, \d+ octets\)/);
});

test('a signal stops in order and what is left is said; a hang-up ends nothing', async (t) => {
	const { signals } = await result;
	t.deepEqual(signals.once, [0, null]);
	t.true(signals.left);
	t.is(signals.afterHangUp, null);
});

test('copies of a signal within half a second are one, a second signal ends at once with 128 + its number', async (t) => {
	const { signals } = await result;
	t.is(signals.afterCopies, null);
	t.deepEqual(signals.second, [130, null]);
});

test('a run whose output nobody reads ends at one signal, and says that it gave records up', async (t) => {
	const { signals } = await result;
	t.deepEqual(signals.unread, [0, null]);
	t.true(signals.unreadSaid);
});

interface Failed {
	exportedBefore: number;
	failedBefore: number;
	failed: number;
	state: string;
	exported: number;
	batchesInFlight: number;
	losses: ExporterStats['losses'];
	warnings: string[];
}
interface FailedPolls {
	kernel: { records: number; packets: number; octets: number };
	there: Failed & { account: Account };
	away: Failed;
	hung: Failed & { account: Account };
}
const failedPolls = inNamespace<FailedPolls>('final_poll_fails');
const FAILED = {
	...{ exportedBefore: 0, failedBefore: 0, failed: 1 },
	...{ state: 'stopped', batchesInFlight: 0 },
};

test('a last poll that fails is told and does not hold up the stop: what the table holds is sent', async (t) => {
	const { there } = await failedPolls;
	t.like(there, { ...FAILED, exported: 150, losses: [] });
	t.like(there.account, { flows: 150, records: 150, ...COMPLETE });
	t.is(there.warnings.length, 1);
	t.regex(there.warnings[0] ?? '', /^ERR_NETNS: a poll failed/);
});

test('after a last poll that failed, too, what cannot be sent is counted and said', async (t) => {
	const { kernel, away } = await failedPolls;
	t.is(kernel.records, 150);
	t.like(away, { ...FAILED, exported: 0 });
	t.deepEqual(away.losses, [{ reason: 'left_at_stop', collector: null, ...kernel }]);
	t.deepEqual(
		away.warnings.map((text) => text.split(':', 1)[0]),
		['ERR_NETNS', 'LEFT_AT_STOP'],
	);
});

test('a last poll that does not end leaves half of the grace period to what is known already', async (t) => {
	const { hung } = await failedPolls;
	t.like(hung, { ...FAILED, failed: 0, exported: 150, losses: [], warnings: [] });
	t.like(hung.account, { flows: 150, records: 150, ...COMPLETE });
});
