import test from 'ava';
import { Backoff } from '../lib/transport/backoff.ts';
import { alternate } from '../lib/transport/resolve.ts';

test('delays double from the first to the last, jitter within the upper half', (t) => {
	const low = new Backoff({ initial: 1_000, max: 60_000, random: () => 0 });
	const high = new Backoff({ initial: 1_000, max: 60_000, random: () => 1 });
	t.deepEqual(
		Array.from({ length: 8 }, () => low.next()),
		[1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000],
	);
	t.deepEqual(
		Array.from({ length: 8 }, () => high.next()),
		[2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000],
	);
});

test('a reset begins anew', (t) => {
	const backoff = new Backoff({ initial: 100, max: 1_000, random: () => 0 });
	backoff.next();
	backoff.next();
	t.is(backoff.failures, 2);
	backoff.reset();
	t.is(backoff.next(), 100);
});

test('weeks of failures stay within the bounds', (t) => {
	const backoff = new Backoff({ initial: 1, max: 60_000 });
	for (let failure = 0; failure < 5_000; failure += 1) {
		const delay = backoff.next();
		t.true(delay >= 1 && delay <= 60_000);
	}
});

test('a delay that is always the same has no jitter', (t) => {
	const backoff = new Backoff({ initial: 50, max: 50 });
	t.deepEqual([backoff.next(), backoff.next()], [50, 50]);
});

test('addresses of a name alternate between the families, the first one’s first', (t) => {
	const v4 = (address: string) => ({ address, family: 4 as const });
	const v6 = (address: string) => ({ address, family: 6 as const });
	t.deepEqual(
		alternate([v6('::1'), v6('::2'), v6('::3'), v4('1.1.1.1')]).map(({ address }) => address),
		['::1', '1.1.1.1', '::2', '::3'],
	);
	t.deepEqual(alternate([]), []);
});
