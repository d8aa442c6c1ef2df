import { statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { FileSession } from '../lib/transport/file.ts';
import type { Parcel } from '../lib/transport/parcel.ts';
import { Session } from '../lib/transport/session.ts';
import { temporaryFolder } from './support/folder.ts';
import { until } from './support/kernel.ts';
import { loneHost, loneListener, parcel, settingsOf, TEMPLATES } from './support/lone_session.ts';

const QUICK = { initial: 1, max: 1 };

/** A session whose connection is always there and takes nothing. */
class Idle extends Session {
	attempts = 0;
	protected connect(): void {
		this.attempts += 1;
		this.opened(undefined);
	}
	protected pump(): void {}
	protected disconnect(): void {}
	protected async finish(): Promise<void> {}
	break(): void {
		this.broke('broken');
	}
	/** As for a move to another connection. */
	rest(): Promise<boolean> {
		return this.quiesce();
	}
	settle(): void {
		this.outbox.next();
		this.settleOldest();
	}
	move(): void {
		this.opened(undefined);
	}
	again(): void {
		this.startOver();
	}
	/** Whether something would be written now. */
	get hasNext(): boolean {
		return this.outbox.next() !== undefined;
	}
}

function idle(window = 1_048_576) {
	const listener = loneListener();
	const session = new Idle(settingsOf('tcp://127.0.0.1:1'), loneHost({ window }), listener);
	session.start();
	return { session, told: listener.told };
}

test('a session that is about to move takes nothing, and is stalled like any other when that takes long', async (t) => {
	const { session, told } = idle();
	session.send(parcel());
	const emptied = session.rest();
	t.deepEqual([session.state, session.hasRoom()], ['open', false]);
	await until('it is stalled', () => told.includes('stalled'));
	t.false(await emptied, 'it moves another time');
	t.is(session.state, 'stalled');
	session.settle();
	t.deepEqual([session.state, session.hasRoom()], ['open', true]);
	session.close();
});

test('a session that has nothing to settle and cannot move all the same is stalled too, until it has moved', async (t) => {
	const { session, told } = idle();
	t.true(await session.rest());
	t.false(session.hasRoom());
	await until('it is stalled', () => told.includes('stalled'));
	session.move();
	t.deepEqual([session.state, session.hasRoom()], ['open', true]);
	session.close();
});

test('a session whose window is full for a second is stalled until all of it is settled', async (t) => {
	const { session, told } = idle(150);
	session.send(parcel());
	session.send(parcel());
	t.deepEqual([session.state, session.hasRoom()], ['open', false]);
	await until('it is stalled', () => told.includes('stalled'));
	session.settle();
	t.deepEqual([session.state, session.hasRoom()], ['stalled', false]);
	session.settle();
	t.deepEqual([session.state, session.hasRoom()], ['open', true]);
	session.close();
});

test('what a session owes is not written before it has begun anew', (t) => {
	const session = new Idle(
		settingsOf('tcp://127.0.0.1:1'),
		loneHost(),
		loneListener({ failed: (session, parcel) => session.keep(parcel) }),
	);
	session.start();
	session.send(parcel());
	session.again();
	t.deepEqual([session.state, session.hasRoom(), session.hasNext], ['open', false, false]);
	session.move();
	t.deepEqual([session.hasRoom(), session.hasNext], [true, true]);
	session.close();
});

test('a session that drains stays at it when the connection that it was moving to is there', async (t) => {
	const { session, told } = idle();
	session.send(parcel());
	const moved = session.rest();
	const drained = session.drain();
	t.false(await moved);
	session.move();
	t.is(session.state, 'draining');
	session.settle();
	await drained;
	t.is(session.state, 'closed');
	t.deepEqual(told, ['opened', 'settled', 'broken: closed']);
});

test('a session that is closed by whoever hears of its failed parcel does not come back', async (t) => {
	const told: Array<[string, number | null]> = [];
	const listener = loneListener({
		failed: (session: Session, parcel: Parcel) => {
			session.discard(parcel);
			session.close();
		},
		broken: (_session: Session, reason: string, retryInMs: number | null) => told.push([reason, retryInMs]),
	});
	const session = new Idle(settingsOf({ url: 'tcp://127.0.0.1:1', reconnect: QUICK }), loneHost(), listener);
	session.start();
	session.send(parcel());
	session.break();
	t.is(session.state, 'closed');
	t.deepEqual(told, [['broken', null]]);
	await new Promise((resolve) => setTimeout(resolve, 50));
	t.deepEqual([session.state, session.attempts], ['closed', 1]);
});

test('a file that is begun after a break does not wait for a write to the one before', async (t) => {
	const folder = temporaryFolder('writes');
	const other = await open(join(folder, 'other'), 'w');
	const handles = Object.getPrototypeOf(other) as FileHandle;
	await other.close();
	// A disk that answers late: the first write hangs until it is let go.
	const { write } = handles;
	let letGo: () => void = () => undefined;
	const hung = new Promise<void>((resolve) => {
		letGo = resolve;
	});
	let writes = 0;
	const late = async function (this: FileHandle, ...given: unknown[]) {
		writes += 1;
		if (writes === 1) await hung;
		return Reflect.apply(write, this, given);
	};
	handles.write = late as unknown as FileHandle['write'];
	t.teardown(() => {
		handles.write = write;
	});
	const session = new FileSession(
		settingsOf({ url: `file:${join(folder, 'flows')}`, reconnect: QUICK }),
		loneHost(),
		loneListener(),
	);
	session.start();
	await until('the first write hangs', () => writes === 1);
	session['broke']('a disk that fails');
	await until('the next file is written', () => writes === 2);
	const part = join(folder, 'flows.part');
	await until('it has the templates', () => statSync(part, { throwIfNoEntry: false })?.size === TEMPLATES);
	letGo();
	await session.drain();
	t.is(statSync(join(folder, 'flows')).size, TEMPLATES);
});
