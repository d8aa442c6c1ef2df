import test from 'ava';
import { inNamespace } from './support/namespace.ts';

interface Outcome {
	first?: string;
	gaveWay: boolean;
	missing: { flows: number; packets: number; octets: number };
}
const result = inNamespace<{ tcp: Outcome; tls: Outcome }>('little_is_sent');

for (const transport of ['tcp', 'tls'] as const) {
	test(`${transport}: what our own kernel takes is no progress: a collector that vanishes gives way to the next, however little is sent`, async (t) => {
		const { first, gaveWay, missing } = (await result)[transport];
		t.true(gaveWay);
		t.regex(first ?? '', /^stalled: \d+ octets wait and none was acknowledged for 800 ms$/);
		t.deepEqual(missing, { flows: 0, packets: 0, octets: 0 });
	});
}
