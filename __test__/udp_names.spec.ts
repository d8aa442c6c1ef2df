import test from 'ava';
import type { ExporterStats } from '../lib/index.ts';
import type { Account } from './support/account.ts';
import { inNamespace } from './support/namespace.ts';

const result = inNamespace<{
	moved: {
		account: Account;
		both: boolean;
		malformed: number;
		breaks: string[];
		losses: ExporterStats['losses'];
	};
	returned: Record<string, { longestWait: number; malformed: number }>;
	last: { account: Account; losses: ExporterStats['losses'] };
}>('udp_names');
const NOTHING = { flows: 0, packets: 0, octets: 0 };

test('a UDP name whose address moves is followed, without a loss, while the old host is silent', async (t) => {
	const { account, both, malformed, breaks, losses } = (await result).moved;
	t.true(both);
	t.deepEqual([breaks, losses, malformed], [[], [], 0]);
	t.like(account, { repeats: 0, missing: NOTHING, invented: [] });
});

test('a UDP collector on any address of its name decodes again soon after its return', async (t) => {
	const { returned } = await result;
	t.deepEqual(Object.keys(returned), ['127.0.0.1', '[::1]']);
	for (const { longestWait, malformed } of Object.values(returned)) {
		t.true(longestWait > 0 && longestWait <= 4_000, `${longestWait} ms between two attempts`);
		t.is(malformed, 0, 'templates came before the data');
	}
});

test('a stop asks a UDP session that is waiting whether the collector is back, at each address', async (t) => {
	const { account, losses } = (await result).last;
	t.deepEqual(losses, []);
	t.like(account, { flows: 50, records: 50, repeats: 0, missing: NOTHING, invented: [] });
});
