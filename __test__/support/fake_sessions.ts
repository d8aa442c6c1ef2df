/** What surrounds a `Delivery`: a core and sessions that only remember what they were asked. */
import { type BatchSource, Delivery } from '../../lib/exporter/delivery.ts';
import type { Amount, Parcel } from '../../lib/transport/parcel.ts';
import type { Session } from '../../lib/transport/session.ts';

/** A source with a number of batches of ten records, each of one message; writes down how they were settled. */
export function source(batches: number) {
	const settled: string[] = [];
	const due = Array.from({ length: batches }, (_, index) => index + 1);
	const taken = new Set<number>();
	const settle = (how: string, id: number) => {
		if (!taken.delete(id)) throw new Error(`batch ${id} is settled twice`);
		settled.push(`${how} ${id}`);
	};
	const core: BatchSource = {
		nextDeadline: () => (due.length > 0 ? 0 : null),
		takeBatch: (formats) => {
			const id = due.shift();
			if (id === undefined) return null;
			taken.add(id);
			const message = { body: Buffer.alloc(100), records: 10, packets: 20, octets: 3_000 };
			return {
				id,
				records: 10,
				packets: 20,
				octets: 3_000,
				messages: formats.map(() => [message]),
				tooLarge: formats.map(() => ({ records: 0, packets: 0, octets: 0 })),
			};
		},
		commit: (id) => settle('commit', id),
		rollback: (id) => {
			settle('rollback', id);
			due.push(id);
		},
	};
	return { core, settled };
}

/** A session that only remembers what it was given. */
export class FakeSession {
	state = 'open';
	room = true;
	format = 0;
	readonly parcels: Parcel[] = [];
	readonly decisions: string[] = [];
	readonly missed: string[] = [];
	readonly limit: number;
	constructor(limit = Number.POSITIVE_INFINITY) {
		this.limit = limit;
	}
	hasRoom = () => this.state === 'open' && this.room && this.parcels.length < this.limit;
	send = (parcel: Parcel) => void this.parcels.push(parcel);
	keep = () => void this.decisions.push('keep');
	discard = () => void this.decisions.push('discard');
	countMissed = (reason: string, { records }: Amount) => void (records > 0 && this.missed.push(reason));
}

/** So many turns of the event loop that whatever goes on in slices is over. */
export async function turn(): Promise<void> {
	for (let number = 0; number < 20; number += 1) await new Promise((resolve) => setImmediate(resolve));
}

export function delivery(mode: 'failover' | 'all', core: BatchSource, ...fakes: FakeSession[]) {
	const sessions = fakes as unknown as Session[];
	const exported: number[] = [];
	const failures: string[] = [];
	const made = new Delivery(core, sessions, {
		mode,
		batchRecords: 1_024,
		exported: ({ records }) => exported.push(records),
		failed: ({ message }) => failures.push(message),
	});
	made.start();
	const parcel = (fake: FakeSession, index: number) =>
		[fake as unknown as Session, fake.parcels[index] as Parcel] as const;
	return {
		made,
		exported,
		failures,
		settled: (fake: FakeSession, index: number) => made.settled(...parcel(fake, index)),
		failed: (fake: FakeSession, index: number) => made.failed(...parcel(fake, index)),
	};
}
