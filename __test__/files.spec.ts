import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Session } from '../lib/transport/session.ts';
import type { CollectorInput } from '../lib/types.ts';
import { temporaryFolder } from './support/folder.ts';
import { until } from './support/kernel.ts';
import { loneHost, loneListener, openedSession, parcel, TEMPLATES } from './support/lone_session.ts';

/** Octets of a parcel in a file: a header and a body. */
const PARCEL = 116;
type Call = (this: FileHandle, ...given: unknown[]) => unknown;

/** Every handle of the process does this instead, until the test ends. Gives what it did before. */
async function replace(t: ExecutionContext, name: 'datasync' | 'sync' | 'write', call: Call): Promise<Call> {
	const handle = await open('/dev/null');
	const handles = Object.getPrototypeOf(handle) as Record<string, Call>;
	await handle.close();
	const before = handles[name] as Call;
	handles[name] = call;
	t.teardown(() => {
		handles[name] = before;
	});
	return before;
}

async function begun(
	t: ExecutionContext,
	name: string,
	more: Omit<CollectorInput & object, 'url'> = {},
	window = 1_048_576,
) {
	const folder = temporaryFolder(name);
	const listener = loneListener();
	const collector = {
		url: `file:${join(folder, 'flows.ipfix')}`,
		reconnect: { initial: 1, max: 20 },
		...more,
	};
	const session = await openedSession(collector as CollectorInput, loneHost({ window }), listener);
	const octetsOf = (file: string) => statSync(join(folder, file), { throwIfNoEntry: false })?.size;
	t.teardown(() => session.close());
	const { told } = listener;
	const broken = async () => {
		await until('it has broken', () => told.some((text) => text.startsWith('broken')));
		return told.find((text) => text.startsWith('broken')) ?? '';
	};
	return { session, folder, told, broken, octetsOf, names: () => readdirSync(folder).sort() };
}
const written = (session: Session, octets: number) =>
	until('it is written', () => session.stats().sentBytes >= octets);

test.serial('a message is settled when it has been forced to the disk, not when it is written', async (t) => {
	let letGo: () => void = () => undefined;
	const datasync = await replace(t, 'datasync', async function (...given) {
		await new Promise<void>((resolve) => {
			letGo = resolve;
		});
		return Reflect.apply(datasync, this, given);
	});
	const { session, told } = await begun(t, 'safe', { flushInterval: 20 });
	session.send(parcel());
	await written(session, TEMPLATES + PARCEL);
	t.deepEqual(told, ['opened']);
	const settled = until('it is settled', () => {
		letGo();
		return told.includes('settled');
	});
	await settled;
	t.is(session.stats().unsettledBytes, 0);
	session.close();
});

test.serial(
	'a disk that hangs in fsync: writing goes on, and after a while what is not safe is sent elsewhere',
	async (t) => {
		await replace(t, 'datasync', () => new Promise(() => undefined));
		const { session, told, broken, octetsOf } = await begun(t, 'hung', { flushInterval: 20 });
		Object.assign(session, { patience: 2_000 });
		session.send(parcel());
		await written(session, TEMPLATES + PARCEL);
		session.send(parcel());
		await until(
			'the second is in the file, too',
			() => octetsOf('flows.ipfix.part') === TEMPLATES + 2 * PARCEL,
		);
		t.is(await broken(), 'broken: fsync: the disk has not answered for 2000 ms');
		t.false(told.includes('settled'));
		t.is(session.stats().duplicateRecords, 14, 'they may be there, and come again');
		session.close();
	},
);

test.serial(
	'a rotation does not wait for the disk: the next file is written while the old one is flushed',
	async (t) => {
		let letGo: () => void = () => undefined;
		const sync = await replace(t, 'sync', async function (...given) {
			await new Promise<void>((resolve) => {
				letGo = resolve;
			});
			return Reflect.apply(sync, this, given);
		});
		const { session, told, octetsOf, names } = await begun(t, 'turn', {
			flushInterval: 20,
			rotate: { size: 65_536 },
		});
		const large = { messages: [{ body: Buffer.alloc(65_519), records: 1, packets: 1, octets: 1 }] };
		session.send(large);
		await until('the next one is begun', () => told.filter((text) => text === 'opened').length === 2);
		session.send(parcel());
		await until('and written', () => octetsOf('flows.ipfix.part') === TEMPLATES + PARCEL);
		t.regex(names()[0] ?? '', /^flows-\d{8}T\d+Z\.ipfix$/);
		t.is(octetsOf(names()[0] ?? ''), TEMPLATES + 65_535);
		await until('both are safe', () => {
			letGo();
			return session.stats().unsettledBytes === 0;
		});
		session.close();
	},
);

test.serial('a disk that hangs in the fsync of a rotated file is given up after a while', async (t) => {
	await replace(t, 'sync', () => new Promise(() => undefined));
	const { session, broken } = await begun(t, 'hung-turn', { flushInterval: 20, rotate: { interval: 50 } });
	Object.assign(session, { patience: 300 });
	session.send(parcel());
	t.is(await broken(), 'broken: fsync: the disk has not answered for 300 ms');
	session.close();
});

test.serial(
	'a disk that never answers is not asked ever more: two files wait for it, no third is begun',
	async (t) => {
		await replace(t, 'datasync', () => new Promise(() => undefined));
		let hung = 0;
		await replace(t, 'write', () => {
			hung += 1;
			return new Promise(() => undefined);
		});
		const { session } = await begun(t, 'pile', { flushInterval: 20 });
		const breaks = async (times: number) => {
			await until('another write hangs', () => hung === times);
			(session as unknown as { broke(reason: string): void }).broke('a disk that hangs');
		};
		await breaks(1);
		await breaks(2);
		await until('it would begin', () => session.state === 'connecting');
		for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setTimeout(resolve, 5));
		t.deepEqual([session.state, hung], ['connecting', 2]);
		session.close();
	},
);

test.serial(
	'a file that is removed while it is written: a new one is begun, and what was not safe comes again',
	async (t) => {
		const { session, folder, told, octetsOf, broken } = await begun(t, 'removed', { flushInterval: 20 });
		session.send(parcel());
		await until('it is safe', () => told.includes('settled'));
		rmSync(join(folder, 'flows.ipfix.part'));
		session.send(parcel());
		t.regex(await broken(), /flows\.ipfix\.part: somebody has removed it; a new one is begun$/);
		t.is(told.filter((text) => text === 'settled').length, 1, 'the second was not safe');
		t.is(session.stats().duplicateRecords, 0, 'and is nowhere else');
		await until('there is a new one', () => octetsOf('flows.ipfix.part') === TEMPLATES);
		session.close();
	},
);

test.serial('a file that somebody replaces is told from the one that was begun by its inode', async (t) => {
	const { session, folder, broken } = await begun(t, 'replaced', { flushInterval: 20 });
	session.send(parcel());
	renameSync(join(folder, 'flows.ipfix.part'), join(folder, 'taken'));
	writeFileSync(join(folder, 'flows.ipfix.part'), 'somebody’s');
	t.regex(await broken(), /somebody has moved it; a new one is begun$/);
	session.close();
});

test.serial('a folder that is removed is told, and used when it is back', async (t) => {
	const { session, folder, told } = await begun(t, 'folder', { flushInterval: 20 });
	session.send(parcel());
	await until('it is safe', () => told.includes('settled'));
	rmSync(folder, { recursive: true });
	await until('it is tried again', () => told.some((text) => text.startsWith('broken: ENOENT')));
	t.not(session.state, 'open');
	mkdirSync(folder);
	await until('it goes on', () => session.state === 'open');
	t.is(told.filter((text) => text === 'settled').length, 1, 'what was safe before was settled before');
	session.close();
});

test.serial('what cannot be written leaves no file behind, and the next attempt begins anew', async (t) => {
	let room = 0;
	const write = await replace(t, 'write', function (...given) {
		if (room === 0) return Promise.reject(new Error('ENOSPC: no space left on device, write'));
		room -= 1;
		return Reflect.apply(write, this, given);
	});
	const { session, told, names, octetsOf } = await begun(t, 'full');
	const failures = () => told.filter((text) => text.startsWith('broken: ENOSPC')).length;
	await until('it has failed again and again', () => failures() >= 5);
	t.deepEqual(
		names().filter((name) => name !== 'flows.ipfix.part'),
		[],
		'no file without anything in it',
	);
	// The templates fit, the records do not.
	room = 1;
	await until('it is open', () => session.state === 'open' && room === 0);
	session.send(parcel());
	await until('it has failed once more', () => session.state !== 'open');
	room = Number.POSITIVE_INFINITY;
	await until('there is room', () => session.state === 'open' && octetsOf('flows.ipfix.part') === TEMPLATES);
	session.send(parcel());
	await session.drain();
	t.deepEqual(names(), ['flows.ipfix']);
	t.is(octetsOf('flows.ipfix'), TEMPLATES + PARCEL);
});

test.serial('two who write to one path: the second is refused while the first is there', async (t) => {
	const first = await begun(t, 'shared', { flushInterval: 20 });
	const url = `file:${join(first.folder, 'flows.ipfix')}`;
	const listener = loneListener();
	const opening = openedSession({ url, reconnect: { initial: 1, max: 20 } }, loneHost(), listener);
	await until('it is refused', () => listener.told.length >= 3);
	t.regex(
		listener.told[0] ?? '',
		/^broken: \S+flows\.ipfix\.part is written by another agent or collector: each needs a path of its own$/,
	);
	first.session.send(parcel(1));
	await until('it is safe', () => first.told.includes('settled'));
	await first.session.drain();
	const second = await opening;
	second.send(parcel(2));
	await second.drain();
	t.is(first.names().length, 2);
	for (const name of first.names()) t.is(first.octetsOf(name), TEMPLATES + PARCEL, name);
});

test.serial(
	'a `.part` that a killed agent left gets a name when it holds something, and is removed when it is empty',
	async (t) => {
		const folder = temporaryFolder('left');
		const part = join(folder, 'flows.ipfix.part');
		const url = `file:${join(folder, 'flows.ipfix')}`;
		writeFileSync(part, '');
		(await openedSession(url)).close();
		await until('it is closed', () => !readdirSync(folder).includes('flows.ipfix.part'));
		t.deepEqual(readdirSync(folder), []);
		writeFileSync(part, 'octets');
		const session = await openedSession(url);
		t.regex(readdirSync(folder).sort()[0] ?? '', /^flows-\d{8}T\d+Z\.ipfix$/);
		session.close();
	},
);

test.serial('half a window of what waits is forced to the disk at once', async (t) => {
	const { session, told } = await begun(t, 'half', { flushInterval: 3_600_000 }, 4 * PARCEL);
	session.send(parcel());
	await written(session, TEMPLATES + PARCEL);
	t.false(told.includes('settled'));
	session.send(parcel());
	await until('both are safe', () => told.filter((text) => text === 'settled').length === 2);
});

test.serial(
	'what was written before a write that fails is made safe first, and does not come again',
	async (t) => {
		let letGo: (() => void) | undefined;
		const datasync = await replace(t, 'datasync', async function (...given) {
			await new Promise<void>((resolve) => {
				letGo = resolve;
			});
			return Reflect.apply(datasync, this, given);
		});
		const { session, told, broken } = await begun(t, 'before', { flushInterval: 20 });
		session.send(parcel());
		await until('the first is being forced to the disk', () => letGo !== undefined);
		session.send(parcel());
		await written(session, TEMPLATES + 2 * PARCEL);
		await replace(t, 'write', () => Promise.reject(new Error('no space')));
		session.send(parcel());
		const ended = broken();
		await until('it is over', () => {
			letGo?.();
			return session.state !== 'open';
		});
		t.is(await ended, 'broken: no space');
		t.is(told.filter((text) => text === 'settled').length, 2);
		t.is(session.stats().duplicateRecords, 0);
	},
);
