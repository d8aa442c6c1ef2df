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
		calledOff: 'ERR_STOPPED',
		startAfterCalledOff: 'running',
		lastWord: ['ERR_STOPPED', 'running'],
		givenUp: 'ERR_STOPPED',
		sameStartAnew: true,
		startedAnew: 'running',
		refusedStart: ['ERR_INVALID_OPTION', ['ERR_INVALID_OPTION'], 'stopped'],
		heard: 2,
		uncaught: ['a listener', 'another listener'],
		folderGone: { warnings: [], reasons: ['ENOENT'], exported: 10, collector: 'closed' },
		abortedBefore: 'AbortError',
		disposed: 'stopped',
		descriptorsLeaked: 0,
		waitsFor: 'ERR_NETNS',
		stopWhileWaiting: 'ERR_STOPPED',
		rejections: [],
	});
});
