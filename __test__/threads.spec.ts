import test from 'ava';
import { inNamespace } from './support/namespace.ts';

interface Report {
	entries: number;
	atOnce: unknown;
	terminated: { code: number; polled: boolean };
	collected: string[];
	threadsLeft: number;
}

const result = inNamespace<Report>('threads');

test('exporters in the main thread and in two workers at once export everything each', async (t) => {
	const { entries, atOnce } = await result;
	t.true(entries >= 40_000);
	t.deepEqual(atOnce, { exported: [true, true], codes: [0, 0], sessions: 3, octets: true });
});

test('worker.terminate() during a poll ends the worker before the poll has ended', async (t) => {
	t.deepEqual((await result).terminated, { code: 1, polled: false });
});

test('what is dropped without a stop is collected, and its thread ends', async (t) => {
	const { collected, threadsLeft } = await result;
	t.deepEqual(collected, ['core', 'never started', 'stopped']);
	t.is(threadsLeft, 0);
});
