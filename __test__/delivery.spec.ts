import test from 'ava';
import type { Session } from '../lib/transport/session.ts';
import { delivery, FakeSession, source, turn } from './support/fake_sessions.ts';

test('failover: the first healthy collector gets everything, in several batches at once', async (t) => {
	const { core, settled } = source(3);
	const [first, second] = [new FakeSession(), new FakeSession()];
	const { made, exported, settled: settle } = delivery('failover', core, first, second);
	await turn();
	t.deepEqual([first.parcels.length, second.parcels.length, made.batches], [3, 0, 3]);
	settle(first, 2);
	settle(first, 0);
	t.deepEqual(settled, ['commit 3', 'commit 1']);
	t.deepEqual([exported, made.batches], [[10, 10], 1]);
	made.stop();
});

test('failover: what failed is rolled back and goes to the next one, later back to the first', async (t) => {
	const { core, settled } = source(2);
	const [first, second] = [new FakeSession(), new FakeSession()];
	const { made, settled: settle, failed } = delivery('failover', core, first, second);
	await turn();
	first.state = 'backoff';
	failed(first, 0);
	failed(first, 1);
	t.deepEqual(settled, ['rollback 1', 'rollback 2']);
	t.deepEqual(first.decisions, ['discard', 'discard']);
	await turn();
	t.is(second.parcels.length, 2);
	settle(second, 0);
	first.state = 'open';
	second.state = 'backoff';
	failed(second, 1);
	await turn();
	t.is(first.parcels.length, 3);
	settle(first, 2);
	t.deepEqual(settled.slice(2), ['commit 1', 'rollback 2', 'commit 2']);
	made.stop();
});

test('failover: a first collector without room is waited for, a stalled one is passed over', async (t) => {
	const { core } = source(2);
	const [first, second] = [new FakeSession(1), new FakeSession()];
	const { made } = delivery('failover', core, first, second);
	await turn();
	t.deepEqual([first.parcels.length, second.parcels.length], [1, 0]);
	first.state = 'stalled';
	made.wake();
	await turn();
	t.deepEqual([first.parcels.length, second.parcels.length], [1, 1]);
	made.stop();
});

test('all: a batch commits when every open collector has settled it or failed and one settled it', async (t) => {
	const { core, settled } = source(1);
	const [first, second, away] = [new FakeSession(), new FakeSession(), new FakeSession()];
	away.state = 'backoff';
	const { made, settled: settle, failed } = delivery('all', core, first, second, away);
	await turn();
	t.deepEqual([first.parcels.length, second.parcels.length, away.parcels.length], [1, 1, 0]);
	failed(first, 0);
	t.deepEqual([settled, away.missed], [[], []]);
	settle(second, 0);
	t.deepEqual(settled, ['commit 1']);
	t.deepEqual(away.missed, ['away'], 'who is not there misses it, and it is counted');
	t.deepEqual(first.decisions, ['keep'], 'the first still gets it, from what it kept');
	failed(first, 0);
	t.deepEqual(first.decisions, ['keep', 'keep'], 'and again, if it breaks again');
	settle(first, 0);
	t.deepEqual(settled, ['commit 1'], 'settled once');
	made.stop();
});

test('all: a batch is not held back for a stalled collector, which still owes it', async (t) => {
	const { core, settled } = source(2);
	const [first, slow] = [new FakeSession(), new FakeSession()];
	const { made, settled: settle, failed } = delivery('all', core, first, slow);
	await turn();
	settle(first, 0);
	slow.state = 'stalled';
	made.stalled(slow as unknown as Session);
	t.deepEqual(settled, ['commit 1'], 'only what somebody has settled');
	settle(first, 1);
	t.deepEqual(settled, ['commit 1', 'commit 2']);
	t.is(made.batches, 0);
	settle(slow, 0);
	failed(slow, 1);
	t.deepEqual(slow.decisions, ['keep']);
	t.deepEqual(settled, ['commit 1', 'commit 2'], 'settled once');
	made.stop();
});

test('all: who misses a batch is counted once, however often it is rolled back and taken again', async (t) => {
	const { core, settled } = source(1);
	const [only, away, stalled] = [new FakeSession(), new FakeSession(), new FakeSession()];
	away.state = 'backoff';
	stalled.state = 'stalled';
	const { made, settled: settle, failed } = delivery('all', core, only, away, stalled);
	for (let times = 0; times < 3; times += 1) {
		await turn();
		failed(only, times);
	}
	await turn();
	t.deepEqual([away.missed, stalled.missed], [[], []]);
	// It is back: what it gets in the end it does not miss.
	failed(only, 3);
	stalled.state = 'open';
	await turn();
	settle(only, 4);
	settle(stalled, 0);
	t.deepEqual(settled, ['rollback 1', 'rollback 1', 'rollback 1', 'rollback 1', 'commit 1']);
	t.deepEqual([away.missed, stalled.missed], [['away'], []]);
	made.stop();
});

test('all: a batch that nobody settled is rolled back', async (t) => {
	const { core, settled } = source(1);
	const [first, second] = [new FakeSession(), new FakeSession()];
	const { made, failed } = delivery('all', core, first, second);
	await turn();
	first.state = second.state = 'backoff';
	failed(first, 0);
	failed(second, 0);
	t.deepEqual(settled, ['rollback 1']);
	t.deepEqual([first.decisions, second.decisions], [['discard'], ['discard']]);
	made.stop();
});

test('nobody open: nothing is taken', async (t) => {
	const { core } = source(1);
	const only = new FakeSession();
	only.state = 'backoff';
	const { made } = delivery('failover', core, only);
	await turn();
	t.is(made.batches, 0);
	t.true(made.lagMs > 0, 'the lag is told');
	only.state = 'open';
	made.wake();
	await turn();
	t.is(only.parcels.length, 1);
	made.stop();
});

test('flush waits for what is in flight, and not for collectors that are away', async (t) => {
	const { core, settled } = source(1);
	const only = new FakeSession();
	const { made, settled: settle } = delivery('failover', core, only);
	await turn();
	let flushed = false;
	const flushing = made.flush().then(() => {
		flushed = true;
	});
	await turn();
	t.false(flushed);
	settle(only, 0);
	await flushing;
	t.deepEqual(settled, ['commit 1']);
	const away = new FakeSession();
	away.state = 'backoff';
	await delivery('failover', source(1).core, away).made.flush();
	made.stop();
});

test('flush goes on while the core searches: it takes nothing and its deadline is 0', async (t) => {
	const { core } = source(1);
	const answers = ['nothing', 'nothing', 'batch'];
	const only = new FakeSession();
	const { made, settled } = delivery(
		'failover',
		{
			...core,
			nextDeadline: () => (answers.length > 0 ? 0 : null),
			takeBatch: (...asked) => (answers.shift() === 'batch' ? core.takeBatch(...asked) : null),
		},
		only,
	);
	// Before its first turn: all that is taken is taken at the stop.
	let flushed = false;
	const flushing = made.flush().then(() => {
		flushed = true;
	});
	await turn();
	t.deepEqual([only.parcels.length, answers.length, flushed], [1, 0, false]);
	settled(only, 0);
	await flushing;
	made.stop();
});

test('what does not fit the messages of one collector is counted for it alone, when the batch is committed', async (t) => {
	const { core } = source(1);
	const [large, small] = [new FakeSession(), new FakeSession()];
	small.format = 1;
	const left = { records: 4, packets: 8, octets: 1_200 };
	const { made, exported, settled, failed } = delivery(
		'all',
		{
			...core,
			takeBatch: (formats, most) => {
				const batch = core.takeBatch(formats, most);
				const none = { records: 0, packets: 0, octets: 0 };
				return batch && { ...batch, tooLarge: formats.map((format) => (format === 1 ? left : none)) };
			},
		},
		large,
		small,
	);
	await turn();
	failed(large, 0);
	failed(small, 0);
	t.deepEqual(small.missed, [], 'they come again');
	await turn();
	settled(large, 1);
	settled(small, 1);
	t.deepEqual([large.missed, small.missed], [[], ['too_large']]);
	t.deepEqual(exported, [10]);
	made.stop();
});

test('a core that refuses a call is told, and nothing more is taken', async (t) => {
	const { core } = source(2);
	const only = new FakeSession(1);
	const refusing = (name: string) => () => {
		throw new Error(name);
	};
	const taking = delivery('failover', { ...core, takeBatch: refusing('take') }, only);
	await turn();
	t.deepEqual([taking.failures, only.parcels.length], [['take'], 0]);
	const settling = delivery('failover', { ...core, commit: refusing('commit') }, only);
	await turn();
	settling.settled(only, 0);
	only.room = true;
	settling.made.wake();
	await turn();
	t.deepEqual([settling.failures, only.parcels.length], [['commit'], 1]);
	// One that waits for a flush is let go.
	const flushing = delivery(
		'failover',
		{ ...source(1).core, takeBatch: refusing('take') },
		new FakeSession(),
	);
	await flushing.made.flush();
	t.deepEqual(flushing.failures, ['take']);
	// And one that comes too late to wait for anything.
	await flushing.made.flush();
});

test('a session that stops the delivery by what it is given: nothing more is taken or waited for', async (t) => {
	const { core } = source(3);
	const only = new FakeSession();
	let asked = 0;
	const { made } = delivery(
		'failover',
		{
			...core,
			nextDeadline: () => {
				asked += 1;
				return core.nextDeadline();
			},
		},
		only,
	);
	only.send = (parcel) => {
		only.parcels.push(parcel);
		made.stop();
	};
	await turn();
	t.deepEqual([only.parcels.length, asked], [1, 1]);
});
