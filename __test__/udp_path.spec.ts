import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import test from 'ava';
import { native } from '../lib/core/native.ts';
import type { ExporterStats } from '../lib/index.ts';
import type { Account } from './support/account.ts';
import { until } from './support/kernel.ts';
import { loneHost, loneListener, openedSession } from './support/lone_session.ts';
import { inNamespace } from './support/namespace.ts';

const result = inNamespace<{
	sized: Array<{
		tooLarge: number;
		account: Account;
		losses: ExporterStats['losses'];
		breaks: string[];
	}>;
	fragmented: number;
	refused: {
		kernel: { records: number; packets: number; octets: number };
		reason: string;
		losses: ExporterStats['losses'];
	};
}>('udp_path');

test('a path whose MTU is lowered, and raised again: no fragment is sent and no record lost, over IPv6 and IPv4', async (t) => {
	const { sized, fragmented } = await result;
	t.is(fragmented, 0);
	for (const { tooLarge, account, losses, breaks } of sized) {
		t.is(tooLarge, 0);
		t.deepEqual([losses, breaks], [[], []]);
		t.true(account.flows > 0);
		t.like(account, { repeats: 0, missing: { flows: 0, packets: 0, octets: 0 }, invented: [] });
	}
});

test('datagrams that are refused late, after templates were sent, are told apart and counted', async (t) => {
	const { kernel, reason, losses } = (await result).refused;
	t.is(kernel.records, 11);
	t.is(reason, 'datagram refused: nothing listens on the port');
	t.deepEqual(losses, [{ reason: 'udp_refused', collector: 'udp://192.0.2.2:4739', ...kernel }]);
});

test("a kernel that does not tell the path's MTU: messages of 512 octets, and that is said once", async (t) => {
	const prototype = native().NativeDatagramSocket.prototype as unknown as { pathMtu(): number | null };
	const { pathMtu } = prototype;
	prototype.pathMtu = () => null;
	t.teardown(() => {
		prototype.pathMtu = pathMtu;
	});
	const receiver = createSocket('udp4').bind(0, '127.0.0.1');
	t.teardown(() => receiver.close());
	await once(receiver, 'listening');
	const [host, listener] = [loneHost(), loneListener()];
	const session = await openedSession(`udp://127.0.0.1:${receiver.address().port}`, host, listener);
	(session as unknown as { broke(reason: string): void }).broke('so that it opens another socket');
	await until('it is open again', () => host.sizes.length === 2 && session.state === 'open');
	session.close();
	t.deepEqual(host.sizes, [512, 512]);
	t.is(listener.told.filter((text) => text === 'warned: PATH_MTU_UNKNOWN').length, 1);
});
