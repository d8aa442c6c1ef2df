import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { resolveOptions } from '../lib/options/options.ts';
import { FileSession } from '../lib/transport/file.ts';
import type { Parcel } from '../lib/transport/parcel.ts';
import { Session } from '../lib/transport/session.ts';
import type { SessionHost, SessionListener } from '../lib/transport/session_host.ts';
import { temporaryFolder } from './support/folder.ts';

const settings = (url: string) => {
	const values = { collectors: [{ url, reconnect: { initial: 1, max: 1 } }] };
	const [collector] = resolveOptions([{ values, nameOf: (option) => option }], 'javascript').collectors;
	if (collector === undefined) throw new Error('one collector was given');
	return collector;
};

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
}

test('a session that is closed by whoever hears of its failed parcel does not come back', async (t) => {
	const host = { window: 1_000_000 } as SessionHost;
	const told: Array<[string, number | null]> = [];
	const listener = {
		opened: () => undefined,
		failed: (session: Session, parcel: Parcel) => {
			session.discard(parcel);
			session.close();
		},
		broken: (_session: Session, reason: string, retryInMs: number | null) => told.push([reason, retryInMs]),
	} as unknown as SessionListener;
	const session = new Idle(settings('tcp://127.0.0.1:1'), host, listener);
	session.start();
	session.send({ messages: [{ body: Buffer.alloc(10), records: 1, packets: 1, octets: 10 }] });
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
	const host = {
		window: 1_000_000,
		format: () => 0,
		wire: () => ({ templates: () => Buffer.alloc(100), options: () => Buffer.alloc(0) }),
		losses: () => ({ records: 0, packets: 0, octets: 0, from: 0, to: 0 }),
	} as unknown as SessionHost;
	const listener = { opened: () => undefined, broken: () => undefined } as unknown as SessionListener;
	const session = new FileSession(settings(`file:${join(folder, 'flows')}`), host, listener);
	session.start();
	const until = async (holds: () => boolean | Promise<boolean>) => {
		while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
	};
	await until(() => writes === 1);
	session['broke']('a disk that fails');
	await until(() => writes === 2);
	const size = async () => (await stat(join(folder, 'flows.part'))).size;
	await until(async () => (await size()) === 100);
	letGo();
	await session.drain();
	t.is((await stat(join(folder, 'flows'))).size, 100);
});
