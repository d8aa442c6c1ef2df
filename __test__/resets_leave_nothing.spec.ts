import test from 'ava';
import { inNamespace } from './support/namespace.ts';

interface Report {
	cycles: number;
	before: unknown;
	after: unknown;
	warnings: string[];
	families: string[];
	heard: number[];
	keepAlive: string;
	firstAttempt: string;
	toItself: string[];
}

const result = inNamespace<Report>('cycles');

test('two hundred connections that are reset leave descriptors, timers, sockets and listeners as before', async (t) => {
	const { cycles, before, after, warnings } = await result;
	t.true(cycles >= 200);
	t.deepEqual(after, before);
	t.deepEqual(warnings, [], 'such as too many listeners');
});

test('of a name with several addresses the one that answers is found, IPv4 or IPv6', async (t) => {
	t.deepEqual((await result).families, ['127.0.0.1', '::1']);
	t.deepEqual((await result).heard, [4, 6], 'and over UDP');
});

test('a name is resolved again at every attempt', async (t) => {
	// The scenario ends only when the second address, which the name got in between, was connected to.
	t.regex((await result).firstAttempt, /^127\.0\.0\.9:\d+: connection refused$/);
});

test('a session that is quiet is kept alive', async (t) => {
	t.regex((await result).keepAlive, /^ESTAB .*timer:\(keepalive,/);
});

test('a socket that connected to itself is no collector', async (t) => {
	t.deepEqual((await result).toItself, [
		'127.0.0.1:40000: connected to itself: nobody listens there',
		'connected to itself: nobody listens there',
	]);
});
