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
		refusedStart: ['ERR_STATE_FILE', ['ERR_STATE_FILE'], 'stopped'],
		refusedStateFiles: [
			['LOCKED/gone/state', 'there is no folder LOCKED/gone'],
			['/dev/null/state', '/dev/null is no folder'],
			['LOCKED/state', 'the folder LOCKED is on a read-only file system'],
			['LOCKED', 'it is a folder'],
		].map(([path, why]) => [`ERR_STATE_FILE the state file ${path} cannot be written: ${why}`, 'stopped']),
		exportsNothing: ['NO_COLLECTOR', 'NOTHING_SELECTED'],
		heard: 2,
		uncaught: ['a listener', 'another listener'],
		folderGone: {
			warnings: ['LEFT_AT_STOP'],
			reasons: ['GONE/flows.ipfix.part'],
			exported: 0,
			collector: 'closed',
		},
		abortedBefore: 'AbortError',
		disposed: 'stopped',
		descriptorsLeaked: 0,
		waitsFor: 'ERR_NETNS',
		stopWhileWaiting: 'ERR_STOPPED',
		rejections: [],
	});
});
