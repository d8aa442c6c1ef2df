/**
 * A session: what one collector is to us over time, through every connection to it.
 *
 * Parcels enter by `send`, one for each batch that this collector takes part in, and leave through the listener:
 * `settled` once, or `failed` whenever the connection that carried them broke. After `failed` the parcel's
 * unsettled messages are kept until the listener decides: `discard` (the batch was rolled back, its records will
 * come again in another one) or `keep` (the batch was committed through another collector: they are sent here
 * first thing after reconnecting). Read `SessionState` (session_host.ts) and `Parcel` (parcel.ts) first.
 */

import type { NativeMessage } from '../core/native.ts';
import { messageOf, toError } from '../errors.ts';
import { within } from '../exporter/time_limit.ts';
import type { CollectorSettings } from '../options/options.ts';
import { Backoff } from './backoff.ts';
import { Outbox } from './outbox.ts';
import { type Amount, add, nothing, type Parcel } from './parcel.ts';
import type { SessionHost, SessionListener, SessionState, SessionStats } from './session_host.ts';
import { Wire } from './wire.ts';

const FULL_PATIENCE_MS = 1_000;
const OPTIONS_INTERVAL_MS = 600_000;

export abstract class Session {
	readonly settings: CollectorSettings;
	protected readonly host: SessionHost;
	protected readonly listener: SessionListener;
	protected readonly outbox = new Outbox();
	protected readonly wire: Wire;
	protected sentBytes = 0;
	protected certificateExpiry: number | null = null;

	#state: SessionState = 'closed';
	readonly #backoff: Backoff;
	readonly #lost = new Map<string, Amount>();
	#openedAt = 0;
	#lastDelay = 0;
	#timer: NodeJS.Timeout | undefined;
	#optionsTimer: NodeJS.Timeout | undefined;
	#fullTimer: NodeJS.Timeout | undefined;
	#drained: Array<() => void> = [];
	#lastError: string | null = null;
	#connections = 0;
	/** It is about to go on over another connection: nothing is taken for that moment. */
	#moving = false;

	constructor(settings: CollectorSettings, host: SessionHost, listener: SessionListener) {
		this.settings = settings;
		this.host = host;
		this.listener = listener;
		this.wire = new Wire(host, settings.options);
		this.#backoff = new Backoff(settings.reconnect);
	}

	/** Begins a connection; ends in `opened` or `broke`. Must not throw. */
	protected abstract connect(): void;
	/** Writes control and the outbox for as long as the connection takes them. */
	protected abstract pump(): void;
	/** Drops the connection at once. Settles what is known to be settled; idempotent. */
	protected abstract disconnect(): void;
	/** Closes the connection in order, after everything was settled. */
	protected abstract finish(): Promise<void>;

	get name(): string {
		return this.settings.name;
	}

	get state(): SessionState {
		return this.#state;
	}

	/** Format of the current connection. */
	get format(): number {
		return this.wire.format;
	}

	get isOpen(): boolean {
		return this.#state === 'open' || this.#state === 'stalled';
	}

	hasRoom(): boolean {
		return this.#state === 'open' && !this.#moving && this.outbox.octets < this.host.window;
	}

	start(): void {
		if (this.#state === 'closed') this.#begin();
	}

	/** Cuts a waiting time short, for the last chance at a stop. */
	retryNow(): void {
		if (this.#state === 'backoff') this.#begin();
	}

	/** The session must be open. */
	send(parcel: Parcel): void {
		if (parcel.messages.length === 0) {
			this.listener.settled(this, parcel);
			return;
		}
		this.outbox.put(parcel);
		this.#watchRoom();
		this.pump();
	}

	/** The batch of this failed parcel was rolled back. */
	discard(parcel: Parcel): void {
		this.outbox.discard(parcel, this.#state !== 'closed');
		this.#roomMade();
	}

	/** The batch of this failed parcel was committed elsewhere: this collector still gets it, later. */
	keep(parcel: Parcel): void {
		this.outbox.keep(parcel);
		if (!this.isOpen) return;
		this.outbox.requeueKept();
		this.pump();
	}

	/**
	 * Takes nothing more; resolves when everything is settled and the connection is closed, or cannot be any more.
	 * `close` ends it earlier.
	 */
	async drain(): Promise<void> {
		if (this.isOpen) {
			this.#state = 'draining';
			await this.#emptied();
			// It may have broken or been closed meanwhile.
			if (this.state === 'draining') {
				await this.finish().catch((error: unknown) => this.broke(messageOf(error)));
			}
		}
		this.close();
	}

	/** Ends at once, whatever the state. What is left counts as lost for this collector if it was kept for it. */
	close(): void {
		if (this.#state === 'closed') return;
		const wasOpen = this.isOpen || this.#state === 'draining';
		this.#leave('closed');
		this.countMissed('left_at_stop', this.outbox.abandon());
		if (wasOpen) this.listener.broken(this, 'closed', null);
	}

	stats(): SessionStats {
		return {
			name: this.name,
			state: this.#state,
			lastError: this.#lastError,
			unsettledBytes: this.outbox.octets,
			sentBytes: this.sentBytes,
			sentMessages: this.wire.sentMessages,
			exportedRecords: this.wire.exportedRecords,
			settledBytes: this.wire.exportedOctets,
			duplicateRecords: this.outbox.repeatedRecords,
			connections: this.#connections,
			certificateExpiry: this.certificateExpiry,
			lost: [...this.#lost].map(([reason, amount]) => ({ reason, ...amount })),
		};
	}

	/** Counts records that this collector was not given. */
	countMissed(reason: string, amount: Amount): void {
		if (amount.records === 0) return;
		const sum = this.#lost.get(reason) ?? nothing();
		add(sum, amount);
		this.#lost.set(reason, sum);
	}

	/**
	 * The connection stands: templates first, then what was kept, then new parcels. Without a size the wire is open
	 * already: the templates go out again and the sequence numbers count on (RFC 7011 section 3.1).
	 */
	protected opened(maxMessageSize: number | undefined): void {
		if (maxMessageSize === undefined) this.wire.repeatStart();
		else this.wire.open(maxMessageSize);
		this.#state = 'open';
		this.#moving = false;
		this.#openedAt = performance.now();
		this.#connections += 1;
		this.outbox.requeueKept();
		this.pump();
		if (this.#state !== 'open') return;
		clearInterval(this.#optionsTimer);
		this.#optionsTimer = setInterval(() => {
			this.withCore(() => this.wire.queueOptions());
			this.pump();
		}, OPTIONS_INTERVAL_MS).unref();
		this.listener.opened(this);
	}

	/** Settles the oldest written message. */
	protected settleOldest(): void {
		const settled = this.outbox.settleOldest();
		if (settled === undefined) return;
		this.wire.settled(settled.outgoing.message);
		if (settled.whole) this.listener.settled(this, settled.outgoing.parcel);
		this.#roomMade();
	}

	/** The connection, or the attempt at one, ended without our wanting it. */
	protected broke(reason: string): void {
		if (this.#state === 'closed' || this.#state === 'backoff') return;
		const stopping = this.#state === 'draining';
		const wasOpen = this.isOpen || stopping;
		this.#lastError = reason;
		if (
			wasOpen &&
			performance.now() - this.#openedAt >= Math.max(this.#lastDelay, this.settings.reconnect.initial)
		) {
			this.#backoff.reset();
		}
		this.#lastDelay = this.#backoff.next();
		this.#leave('backoff');
		if (stopping) this.close();
		// Whoever heard that a parcel failed may have closed the session.
		if (this.state === 'closed') {
			this.listener.broken(this, reason, null);
			return;
		}
		this.#timer = setTimeout(() => this.#begin(), this.#lastDelay);
		this.listener.broken(this, reason, this.#lastDelay);
	}

	/** The header with which a message leaves now. Undefined: the core refused it, and the session is broken. */
	protected stamp(message: NativeMessage): Buffer | undefined {
		return this.withCore(() => this.wire.stamp(message));
	}

	/** Sockets and timers call in here, and none of them could do anything with an error of the core. */
	protected withCore<T>(call: () => T): T | undefined {
		try {
			return call();
		} catch (error) {
			this.broke(messageOf(error));
			this.host.coreFailed(toError(error));
			return undefined;
		}
	}

	/**
	 * Takes nothing more until the next `opened`, so that what is on its way can be settled. False: that took longer
	 * than `patience`, or the connection ended; then the session goes on as if nothing had been asked.
	 */
	protected async quiesce(patience: number): Promise<boolean> {
		if (!this.isOpen || this.#moving) return false;
		this.#moving = true;
		await within(patience, this.#emptied());
		if (this.isOpen && this.#moving && this.outbox.octets === 0) return true;
		this.#moving = false;
		this.#roomMade();
		return false;
	}

	async #emptied(): Promise<void> {
		if (this.outbox.octets > 0) await new Promise<void>((resolve) => this.#drained.push(resolve));
	}

	#begin(): void {
		clearTimeout(this.#timer);
		this.#state = 'connecting';
		this.connect();
	}

	#leave(state: 'closed' | 'backoff'): void {
		clearTimeout(this.#timer);
		clearInterval(this.#optionsTimer);
		clearTimeout(this.#fullTimer);
		this.#fullTimer = undefined;
		this.disconnect();
		this.#state = state;
		this.#moving = false;
		this.wire.close();
		for (const parcel of this.outbox.retainAll()) this.listener.failed(this, parcel);
		for (const resolve of this.#drained.splice(0)) resolve();
	}

	#watchRoom(): void {
		if (this.outbox.octets < this.host.window || this.#fullTimer !== undefined || this.#state !== 'open')
			return;
		this.#fullTimer = setTimeout(() => {
			this.#fullTimer = undefined;
			if (this.#state !== 'open') return;
			this.#state = 'stalled';
			this.listener.stalled(this);
		}, FULL_PATIENCE_MS).unref();
	}

	#roomMade(): void {
		if (this.outbox.octets < this.host.window) {
			clearTimeout(this.#fullTimer);
			this.#fullTimer = undefined;
		}
		if (this.outbox.octets === 0) {
			if (this.#state === 'stalled') this.#state = 'open';
			for (const resolve of this.#drained.splice(0)) resolve();
		}
		if (this.hasRoom()) this.listener.room(this);
	}
}
