import test from 'ava';
import { inNamespace } from './support/namespace.ts';

test('a collector at a link-local address is reached by its link, and its sessions are left out', async (t) => {
	t.deepEqual(await inNamespace('scoped'), {
		listening: [],
		tracked: 3,
		names: ['tcp', 'udp', 'tls'].map((kind) => `${kind}://[fe80::4739%link0]:PORT`),
		states: ['open', 'open', 'open'],
		reasons: [],
		flows: true,
		own: 0,
	});
});
