import test from 'ava';
import { inNamespace } from './support/namespace.ts';

test('start and stop in every order leave nothing behind', async (t) => {
	t.deepEqual(await inNamespace('lifecycle'), {
		sameStart: true,
		running: 'running',
		sameStop: true,
		stopped: 'stopped',
		startedAgain: 'running',
		stopBeforeStart: 'new',
		stopDuringStart: 'ERR_STOPPED',
		stopOfAWaitingStart: 'ERR_STOPPED',
		abortedBefore: 'AbortError',
		disposed: 'stopped',
		descriptorsLeaked: 0,
		waitsFor: 'ERR_NETNS',
		stopWhileWaiting: 'ERR_STOPPED',
		rejections: [],
	});
});
