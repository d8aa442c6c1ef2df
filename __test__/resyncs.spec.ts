import test from 'ava';
import { inNamespace } from './support/namespace.ts';

test('a poll that lost events made necessary is not taken for one that was asked for', async (t) => {
	const seen = await inNamespace<Record<string, number>>('resyncs');
	const { asked = 0, between = 0, meanwhile = 0 } = seen;
	t.true(asked > 30 && between >= 3, 'many of both kinds');
	t.true(meanwhile >= 3, 'some ended while an asked one was waited for');
	t.like(
		seen,
		{ askedEnds: asked, waiting: 0, outOfTurn: 0, failed: 0 },
		'each ends once, and only then another begins',
	);
	t.is(seen['moved'], 0, 'the plan stays as it was');
});
