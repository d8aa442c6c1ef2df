import test from 'ava';
import { resolveOptions } from '../lib/options.ts';
import type { Parcel } from '../lib/transport/parcel.ts';
import { Session } from '../lib/transport/session.ts';
import type { SessionHost, SessionListener } from '../lib/transport/session_host.ts';

/** A session whose connection is always there and takes nothing. */
class Idle extends Session {
	attempts = 0;
	protected connect(): void {
		this.attempts += 1;
		this.opened(undefined);
	}
	protected pump(): void {}
	protected disconnect(): void {}
	protected async finish(): Promise<void> {}
	break(): void {
		this.broke('broken');
	}
}

test('a session that is closed by whoever hears of its failed parcel does not come back', async (t) => {
	const values = { collectors: [{ url: 'tcp://127.0.0.1:1', reconnect: { initial: 1, max: 1 } }] };
	const { collectors } = resolveOptions([{ values, nameOf: (option) => option }], 'javascript');
	const [settings] = collectors;
	if (settings === undefined) throw new Error('one collector was given');
	const host = { window: 1_000_000 } as SessionHost;
	const told: Array<[string, number | null]> = [];
	const listener = {
		opened: () => undefined,
		failed: (session: Session, parcel: Parcel) => {
			session.discard(parcel);
			session.close();
		},
		broken: (_session: Session, reason: string, retryInMs: number | null) => told.push([reason, retryInMs]),
	} as unknown as SessionListener;
	const session = new Idle(settings, host, listener);
	session.start();
	session.send({ messages: [{ body: Buffer.alloc(10), records: 1, packets: 1, octets: 10 }] });
	session.break();
	t.is(session.state, 'closed');
	t.deepEqual(told, [['broken', null]]);
	await new Promise((resolve) => setTimeout(resolve, 50));
	t.deepEqual([session.state, session.attempts], ['closed', 1]);
});
