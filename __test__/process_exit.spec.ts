import test from 'ava';
import { inNamespace } from './support/namespace.ts';

test('process.exit() during a poll ends the process with its code', async (t) => {
	// The scenario fails when it ends by a signal or with another code.
	const { entries, polled } = await inNamespace<{ entries: number; polled: boolean }>('exit');
	t.true(entries >= 40_000, String(entries));
	t.false(polled, 'the poll was under way');
});
