/**
 * What a session holds for its collector. Parcels enter by `put`; their messages are queued, then unsettled, then
 * settled in the order in which they were written. When the connection breaks, those left are retained by parcel
 * until it is known whether they are to be forgotten (`discard`) or sent again first thing (`keep`, `requeueKept`).
 */
import { type Amount, add, nothing, type Outgoing, type Parcel, sizeOf } from './parcel.ts';

interface Retained {
	kept: boolean;
	messages: Outgoing[];
}

export class Outbox {
	/** Written, in order, not yet settled. */
	readonly unsettled: Outgoing[] = [];
	readonly #queue: Outgoing[] = [];
	readonly #retained = new Map<Parcel, Retained>();
	/** Messages of each parcel that are not settled. */
	readonly #remaining = new Map<Parcel, number>();
	#octets = 0;
	#repeatedRecords = 0;

	/** Octets queued, unsettled or retained. */
	get octets(): number {
		return this.#octets;
	}

	/** Records sent again although they may have arrived the first time. */
	get repeatedRecords(): number {
		return this.#repeatedRecords;
	}

	put(parcel: Parcel): void {
		this.#remaining.set(parcel, parcel.messages.length);
		for (const message of parcel.messages) {
			this.#octets += sizeOf(message);
			this.#queue.push({ parcel, message, end: 0, leastEnd: 0, mayHaveArrived: false });
		}
	}

	/** The next message to be written; from now on it is unsettled. */
	next(): Outgoing | undefined {
		const outgoing = this.#queue.shift();
		if (outgoing !== undefined) this.unsettled.push(outgoing);
		return outgoing;
	}

	/** Settles the oldest written message. `whole`: its parcel has no other left. */
	settleOldest(): { outgoing: Outgoing; whole: boolean } | undefined {
		const outgoing = this.unsettled.shift();
		if (outgoing === undefined) return undefined;
		this.#octets -= sizeOf(outgoing.message);
		const left = (this.#remaining.get(outgoing.parcel) ?? 1) - 1;
		if (left > 0) this.#remaining.set(outgoing.parcel, left);
		else this.#remaining.delete(outgoing.parcel);
		return { outgoing, whole: left <= 0 };
	}

	/** The connection ended: retains what is left, and names the parcels concerned. */
	retainAll(): Parcel[] {
		const failed = new Map<Parcel, Retained>();
		for (const outgoing of [...this.unsettled.splice(0), ...this.#queue.splice(0)]) {
			const retained = failed.get(outgoing.parcel) ?? { kept: false, messages: [] };
			retained.messages.push(outgoing);
			failed.set(outgoing.parcel, retained);
		}
		for (const [parcel, retained] of failed) this.#retained.set(parcel, retained);
		return [...failed.keys()];
	}

	/** Forgets a retained parcel. `comesAgain`: its records will be sent again in another one. */
	discard(parcel: Parcel, comesAgain: boolean): void {
		const retained = this.#retained.get(parcel);
		if (retained === undefined) return;
		this.#retained.delete(parcel);
		this.#remaining.delete(parcel);
		for (const outgoing of retained.messages) {
			this.#octets -= sizeOf(outgoing.message);
			if (comesAgain) this.#countRepeat(outgoing);
		}
	}

	/** The rest of a retained parcel is to be sent again. */
	keep(parcel: Parcel): void {
		const retained = this.#retained.get(parcel);
		if (retained !== undefined) retained.kept = true;
	}

	/** Puts what is kept in front of the queue. */
	requeueKept(): void {
		const again: Outgoing[] = [];
		for (const [parcel, { kept, messages }] of this.#retained) {
			if (!kept) continue;
			this.#retained.delete(parcel);
			for (const outgoing of messages) {
				this.#countRepeat(outgoing);
				again.push({ ...outgoing, end: 0, leastEnd: 0, mayHaveArrived: false });
			}
		}
		this.#queue.unshift(...again);
	}

	/** Forgets everything retained; the sum of what was to be sent again. */
	abandon(): Amount {
		const lost = nothing();
		for (const [parcel, { kept, messages }] of [...this.#retained]) {
			if (kept) for (const { message } of messages) add(lost, message);
			this.discard(parcel, false);
		}
		return lost;
	}

	#countRepeat({ message, mayHaveArrived }: Outgoing): void {
		if (mayHaveArrived) this.#repeatedRecords += message.records;
	}
}
