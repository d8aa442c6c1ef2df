import test from 'ava';
import type { Account } from './support/account.ts';
import { inNamespace } from './support/namespace.ts';

const result = inNamespace<{
	reasons: Array<[string, string[]]>;
	asking: number;
	account: Account;
	afterOne: [number | null, string | null];
	afterTwo: [number | null, string | null];
	listeners: Array<[number | null, string | null]>;
}>('silent_name_server');

test('collectors whose names nobody answers for hold up no other, and one look-up of each name is open', async (t) => {
	const { reasons, asking, account } = await result;
	t.deepEqual(
		reasons,
		['a', 'b', 'c', 'd', 'e'].map((name) => [
			`${name}.example`,
			[`no answer to the name ${name}.example within 50 ms`],
		]),
	);
	t.is(asking, 5);
	t.like(account, { flows: 100, missing: { flows: 0, packets: 0, octets: 0 }, invented: [] });
});

test('a look-up or a disk that hangs keeps neither a program nor the command alive', async (t) => {
	const { afterOne, afterTwo } = await result;
	t.deepEqual(afterOne, [0, null]);
	t.deepEqual(afterTwo, [143, null]);
});

test('who is to listen on such a name ends at the first signal', async (t) => {
	const { listeners } = await result;
	t.deepEqual(
		listeners,
		listeners.map(() => [0, null]),
	);
	t.is(listeners.length, 3);
});
