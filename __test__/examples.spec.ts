import test from 'ava';
import { inNamespace } from './support/namespace.ts';

test('the examples work when they are copied', async (t) => {
	t.deepEqual(await inNamespace('examples'), {
		codes: [0, 0],
		// Three datagrams of 100 octets, each with 28 octets of headers.
		records: ['127.0.0.1 > 127.0.0.1: 384 octets'],
	});
});
