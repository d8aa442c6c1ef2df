import { mock } from 'node:test';
import test, { type ExecutionContext } from 'ava';
import { Renewal } from '../lib/transport/renewal.ts';
import { inNamespace } from './support/namespace.ts';

interface Report {
	again: {
		users: string[];
		told: number;
		state: string;
		connections: number;
		reload: boolean;
	};
	whileRefused: { users: string[]; reload: boolean };
	taken: { users: string[]; refusals: number };
	asked: { users: string[]; told: number; refusals: number };
	late: string[];
}

const result = inNamespace<Report>('renewal_refused');

test('a collector that refuses renewed certificates is asked again and again, and the session goes on', async (t) => {
	const { again } = await result;
	t.deepEqual(again, { users: ['agent'], told: 1, state: 'open', connections: 1, reload: false });
});

test('certificates that are good are used when the files change, however far away the next try was', async (t) => {
	const { whileRefused, taken } = await result;
	t.deepEqual(whileRefused, { users: ['agent'], reload: false }, 'though another collector took them');
	t.deepEqual(taken, { users: ['agent', 'agent-2'], refusals: 1 });
});

test('a renewal that is asked for is tried at once, and its failure is told each time', async (t) => {
	t.deepEqual((await result).asked, { users: ['agent', 'agent-2'], told: 3, refusals: 2 });
	t.deepEqual((await result).late, [], 'but not of a stopped exporter');
});

/** Files and a collector whose answers are told; each second of `seconds` passes, and gives those in which it was asked. */
function renewal(t: ExecutionContext) {
	mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
	const files = { fingerprint: 'old' };
	let second = 0;
	let answer: () => Promise<boolean> = () => Promise.reject(new Error('refused'));
	const asked: number[] = [];
	const told: Array<string | null> = [];
	const made = new Renewal({
		read: async () => ({ ...files }),
		move: () => {
			asked.push(second);
			return answer();
		},
		told: (problem) => told.push(problem),
		backoff: { initial: 1_000, max: 60_000, random: () => 0 },
	});
	made.use('old');
	made.watch();
	t.teardown(() => {
		made.unwatch();
		mock.timers.reset();
	});
	const pass = async (seconds: number) => {
		asked.length = 0;
		for (const end = second + seconds; second < end; ) {
			second += 1;
			mock.timers.tick(1_000);
			for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
		}
		return [...asked];
	};
	const answering = (next: () => Promise<boolean>) => {
		answer = next;
	};
	return { made, files, told, pass, answering };
}

test.serial(
	'pauses between tries double up to the bound; a change of the files and a success begin anew',
	async (t) => {
		const { made, files, told, pass, answering } = renewal(t);
		t.deepEqual(await pass(10), [], 'nothing has changed');
		files.fingerprint = 'bad';
		// Seen after 5 s; then 1, 2, 4, 8, 16, 30 and 30 s later.
		t.deepEqual(await pass(100), [15, 16, 18, 22, 30, 46, 76, 106]);
		files.fingerprint = 'bad too';
		t.deepEqual(await pass(10), [115, 116, 118]);
		t.deepEqual(
			told.filter((problem) => problem !== null),
			['refused', 'refused'],
			'once for each change',
		);
		files.fingerprint = 'good';
		answering(async () => {
			made.use('good');
			return true;
		});
		// The next try of the bad ones was due then, and reads the files as well.
		t.deepEqual(await pass(10), [122]);
		t.is(told.at(-1), null);
		files.fingerprint = 'bad';
		answering(() => Promise.resolve(false));
		t.deepEqual(
			await pass(10),
			[135, 136, 138],
			'a session that could not move just then, too, is tried again',
		);
		made.now();
		t.deepEqual(await pass(1), [141], 'at once, when it is asked for');
		made.unuse();
		t.deepEqual(await pass(100), [], 'nothing is open that could move');
	},
);

test.serial('files that go back to what is in use are no problem any more, and move nothing', async (t) => {
	const { files, told, pass } = renewal(t);
	files.fingerprint = 'bad';
	await pass(6);
	t.is(told.at(-1), 'refused');
	files.fingerprint = 'old';
	t.deepEqual(await pass(100), []);
	t.is(told.at(-1), null);
});
