/**
 * Delivery: takes batches from the table while somebody can send them, and settles each exactly once.
 *
 * A batch enters from `source.takeBatch` and leaves by `commit`, when every session that carried it has settled it,
 * failed or stalled and at least one settled it, or by `rollback`, when all of them failed. The export loop (`pump`) is
 * driven by the source's next deadline and by sessions that have room again, never by a fixed tick.
 */

import type { NativeBatch, NativeExporter } from '../core/native.ts';
import { toError } from '../errors.ts';
import type { Amount, Parcel } from '../transport/parcel.ts';
import type { Session } from '../transport/session.ts';

export type BatchSource = Pick<NativeExporter, 'nextDeadline' | 'takeBatch' | 'commit' | 'rollback'>;

export interface DeliveryOptions {
	/** `failover`: each batch goes to the first healthy session; `all`: to every open one. */
	mode: 'failover' | 'all';
	/** Most records of one batch. */
	batchRecords: number;
	/** Called with what was committed. */
	exported(amount: Amount): void;
	/** The core refused a call: nothing more is taken. */
	failed(error: Error): void;
}

interface InFlight {
	readonly batch: NativeBatch;
	readonly amount: Amount;
	/** Who misses how much of it, and why: told when it is committed, because what is rolled back comes again. */
	readonly missed: ReadonlyArray<{ session: Session; reason: string; amount: Amount }>;
	readonly parcels: ReadonlyMap<Session, Parcel>;
	readonly waiting: Set<Session>;
	/** Of those waited for: who is not waited for any more once another one has settled it. */
	readonly slow: Set<Session>;
	readonly failed: Session[];
	delivered: boolean;
}

/** The JavaScript thread is given back after this long. */
const TURN_MS = 0.5;
/** Pause when a deadline has come and nothing could be taken. */
const NOTHING_TAKEN_MS = 20;
/** Deadlines further away are asked for again. */
const LONGEST_SLEEP_MS = 60_000;

export class Delivery {
	readonly #source: BatchSource;
	readonly #sessions: readonly Session[];
	readonly #options: DeliveryOptions;
	readonly #inFlight = new Map<Parcel, InFlight>();
	/** Committed parcels that a session still owes to its collector. */
	readonly #owed = new WeakSet<Parcel>();
	#batches = 0;
	#timer: NodeJS.Timeout | undefined;
	#immediate: NodeJS.Immediate | undefined;
	#running = false;
	#stopping = false;
	#dueSince: number | undefined;
	#idle: (() => void) | undefined;

	constructor(source: BatchSource, sessions: readonly Session[], options: DeliveryOptions) {
		this.#source = source;
		this.#sessions = sessions;
		this.#options = options;
	}

	start(): void {
		this.#running = true;
		this.wake();
	}

	/** Takes no more batches. */
	stop(): void {
		this.#running = false;
		this.#dueSince = undefined;
		clearTimeout(this.#timer);
		clearImmediate(this.#immediate);
		this.#immediate = undefined;
		this.#idle?.();
	}

	/** Batches taken and not settled. */
	get batches(): number {
		return this.#batches;
	}

	/** How long records that are due have been waiting, in milliseconds. */
	get lagMs(): number {
		return this.#dueSince === undefined ? 0 : performance.now() - this.#dueSince;
	}

	/** Something changed: deadlines, room, a session. Cheap; runs at most once a turn. */
	wake(): void {
		if (!this.#running || this.#immediate !== undefined) return;
		this.#immediate = setImmediate(() => {
			this.#immediate = undefined;
			this.#guarded(() => this.#pump());
		});
	}

	/** Resolves when nothing is due and nothing in flight, or nobody is left who could take it. */
	async flush(): Promise<void> {
		this.#stopping = true;
		if (!this.#running) return;
		await new Promise<void>((resolve) => {
			this.#idle = resolve;
			this.wake();
		});
		this.#idle = undefined;
	}

	#pump(): void {
		clearTimeout(this.#timer);
		const end = performance.now() + TURN_MS;
		// A session that breaks by what it is given may stop the delivery.
		while (this.#running) {
			const wait = this.#source.nextDeadline();
			if (wait === null || wait > 0) {
				this.#dueSince = undefined;
				if (this.#stopping) this.#finishIfIdle();
				if (wait !== null) this.#sleep(wait);
				return;
			}
			this.#dueSince ??= performance.now();
			const targets = this.#targets();
			// Whoever gets room, or opens, wakes the loop.
			if (targets.length === 0) {
				if (this.#stopping) this.#finishIfAlone();
				return;
			}
			if (performance.now() >= end) {
				this.wake();
				return;
			}
			// The deadline may be early: then nothing is due after all. At a stop the core looks for what is unexported in
			// slices, and its deadline stays 0 until it has seen all.
			if (!this.#take(targets)) {
				if (this.#stopping) this.wake();
				else this.#sleep(NOTHING_TAKEN_MS);
				return;
			}
		}
	}

	#sleep(milliseconds: number): void {
		this.#timer = setTimeout(
			() => this.#guarded(() => this.#pump()),
			Math.min(LONGEST_SLEEP_MS, Math.max(1, Math.ceil(milliseconds))),
		);
	}

	/**
	 * Who takes the next batch. A session that is open but has no room holds the batch back for the moment, until it
	 * counts as stalled; then it is passed over.
	 */
	#targets(): Session[] {
		if (this.#options.mode === 'failover') {
			const first = this.#sessions.find((session) => session.state === 'open');
			return first?.hasRoom() === true ? [first] : [];
		}
		const open = this.#sessions.filter((session) => session.state === 'open');
		return open.every((session) => session.hasRoom()) ? open : [];
	}

	#take(targets: readonly Session[]): boolean {
		const formats = [...new Set(targets.map((session) => session.format))];
		const batch = this.#source.takeBatch(formats, this.#options.batchRecords);
		if (batch === null) return false;
		const { records, packets, octets } = batch;
		const parcels = new Map<Session, Parcel>(
			targets.map((session) => [
				session,
				{ messages: batch.messages[formats.indexOf(session.format)] ?? [] },
			]),
		);
		const inFlight = {
			batch,
			amount: { records, packets, octets },
			missed: [
				...targets.flatMap((session) => {
					const amount = batch.tooLarge[formats.indexOf(session.format)];
					return amount === undefined ? [] : [{ session, reason: 'too_large', amount }];
				}),
				...this.#passedOver(targets).map((session) => ({
					session,
					reason: session.state === 'stalled' ? 'stalled' : 'away',
					amount: { records, packets, octets },
				})),
			],
			parcels,
			waiting: new Set(targets),
			slow: new Set<Session>(),
			failed: [],
			delivered: false,
		};
		this.#batches += 1;
		for (const parcel of parcels.values()) this.#inFlight.set(parcel, inFlight);
		for (const [session, parcel] of parcels) session.send(parcel);
		return true;
	}

	/** Who gets nothing of a batch that these take. Under failover one is enough. */
	#passedOver(targets: readonly Session[]): Session[] {
		if (this.#options.mode === 'failover') return [];
		return this.#sessions.filter((session) => !targets.includes(session));
	}

	/** The session's collector has all of this parcel. */
	settled(session: Session, parcel: Parcel): void {
		const inFlight = this.#inFlight.get(parcel);
		if (inFlight === undefined) return;
		this.#inFlight.delete(parcel);
		inFlight.delivered = true;
		inFlight.waiting.delete(session);
		this.#guarded(() => this.#decide(inFlight));
	}

	/**
	 * The session has been full for a while: what others have settled is not held back for it. It still owes its
	 * collector what it was given.
	 */
	stalled(session: Session): void {
		for (const inFlight of new Set(this.#inFlight.values())) {
			if (!inFlight.waiting.has(session)) continue;
			inFlight.slow.add(session);
			this.#guarded(() => this.#decide(inFlight));
		}
		this.wake();
	}

	/** The session broke before all of it was settled; it keeps the rest until it hears what to do with it. */
	failed(session: Session, parcel: Parcel): void {
		const inFlight = this.#inFlight.get(parcel);
		if (inFlight !== undefined) {
			inFlight.failed.push(session);
			inFlight.waiting.delete(session);
			this.#guarded(() => this.#decide(inFlight));
		} else if (this.#owed.has(parcel)) {
			session.keep(parcel);
		}
	}

	#decide(inFlight: InFlight): void {
		for (const session of inFlight.waiting) if (!inFlight.delivered || !inFlight.slow.has(session)) return;
		this.#batches -= 1;
		for (const session of inFlight.waiting) {
			const parcel = inFlight.parcels.get(session);
			if (parcel === undefined) continue;
			this.#inFlight.delete(parcel);
			this.#owed.add(parcel);
		}
		inFlight.waiting.clear();
		for (const failed of inFlight.failed) {
			const parcel = inFlight.parcels.get(failed);
			if (parcel === undefined) continue;
			this.#inFlight.delete(parcel);
			if (inFlight.delivered) {
				this.#owed.add(parcel);
				failed.keep(parcel);
			} else {
				failed.discard(parcel);
			}
		}
		if (inFlight.delivered) {
			this.#source.commit(inFlight.batch.id);
			for (const { session, reason, amount } of inFlight.missed) session.countMissed(reason, amount);
			this.#options.exported(inFlight.amount);
		} else {
			this.#source.rollback(inFlight.batch.id);
		}
		this.wake();
	}

	/** Timers, sockets and the loop call in here, and none of them could do anything with an error. */
	#guarded(call: () => void): void {
		try {
			call();
		} catch (error) {
			this.stop();
			this.#options.failed(toError(error));
		}
	}

	#finishIfIdle(): void {
		if (this.#batches === 0) this.#idle?.();
	}

	#finishIfAlone(): void {
		const hopeful = this.#sessions.some(
			({ state }) => state === 'open' || state === 'stalled' || state === 'connecting',
		);
		if (!hopeful && this.#batches === 0) this.#idle?.();
	}
}
