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
import type { CollectorSettings } from '../options/options.ts';
import { Backoff } from './backoff.ts';
import { Outbox } from './outbox.ts';
import { type Amount, add, nothing, type Parcel } from './parcel.ts';
import type { SessionHost, SessionListener, SessionState, SessionStats } from './session_host.ts';
import { Wire } from './wire.ts';

/** How long a session that takes nothing for the moment is waited for, before it counts as stalled. */
const PATIENCE_MS = 1_000;
const OPTIONS_INTERVAL_MS = 600_000;

/**
 * `SessionState`, told more finely: `full` and `moving` are `open` to others. Both take nothing for the moment, and are
 * `stalled` after a second. full: the window is. moving: the session is about to go on over another connection.
 */
type Phase = SessionState | 'full' | 'moving';

interface Standing {
	readonly phase: Phase;
	/** Of a phase that ends by itself. */
	readonly timer?: NodeJS.Timeout | undefined;
	/** Called once: true when nothing is held any more, false when the phase ends before that. */
	emptied?: ((all: boolean) => void) | undefined;
}

export abstract class Session {
	readonly settings: CollectorSettings;
	protected readonly host: SessionHost;
	protected readonly listener: SessionListener;
	protected readonly outbox = new Outbox();
	protected readonly wire: Wire;
	protected sentBytes = 0;
	protected certificateExpiry: number | null = null;

	#standing: Standing = { phase: 'closed' };
	/** Of the connection that stands. */
	#openedAt = 0;
	#optionsTimer: NodeJS.Timeout | undefined;
	readonly #backoff: Backoff;
	#lastDelay = 0;
	readonly #lost = new Map<string, Amount>();
	#lastError: string | null = null;
	#connections = 0;

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

	/** After the session was closed: resolves when nothing of it is in the way of another one, or that takes too long. */
	protected async gone(): Promise<void> {}

	get name(): string {
		return this.settings.name;
	}

	get state(): SessionState {
		const { phase } = this.#standing;
		return phase === 'full' || phase === 'moving' ? 'open' : phase;
	}

	/** Format of the current connection. */
	get format(): number {
		return this.wire.format;
	}

	/** Whether a connection stands on which the session goes on. */
	get isOpen(): boolean {
		return this.state === 'open' || this.state === 'stalled';
	}

	hasRoom(): boolean {
		return this.#standing.phase === 'open' && this.outbox.octets < this.host.window;
	}

	start(): void {
		if (this.state === 'closed') this.#begin();
	}

	/** The exporter stops, this is the last chance: a waiting time is cut short, nothing is left for later. */
	hurry(): void {
		if (this.state === 'backoff') this.#begin();
	}

	/** Certificates are to be read anew, where the transport has some. */
	renewCertificates(): void {}

	/** The session must be open. */
	send(parcel: Parcel): void {
		if (parcel.messages.length === 0) {
			this.listener.settled(this, parcel);
			return;
		}
		this.outbox.put(parcel);
		if (this.#standing.phase === 'open' && this.outbox.octets >= this.host.window) this.#wait('full');
		this.pump();
	}

	/** The batch of this failed parcel was rolled back. */
	discard(parcel: Parcel): void {
		this.outbox.discard(parcel, this.state !== 'closed');
		this.#roomMade();
	}

	/** The batch of this failed parcel was committed elsewhere: this collector still gets it, later. */
	keep(parcel: Parcel): void {
		this.outbox.keep(parcel);
		// The next connection begins with what is kept.
		if (!this.isOpen || this.#standing.phase === 'moving') return;
		this.outbox.requeueKept();
		this.pump();
	}

	/**
	 * Takes nothing more; resolves when everything is settled and the connection is closed, or cannot be any more.
	 * `close` ends it earlier.
	 */
	async drain(): Promise<void> {
		if (this.isOpen) {
			const emptied = new Promise<boolean>((resolve) => this.#enter('draining', { emptied: resolve }));
			this.#roomMade();
			await emptied;
			// It may have broken or been closed meanwhile.
			if (this.state === 'draining') {
				await this.finish().catch((error: unknown) => this.broke(messageOf(error)));
			}
		}
		this.close();
		await this.gone();
	}

	/** Ends at once, whatever the state. What is left counts as lost for this collector if it was kept for it. */
	close(): void {
		if (this.state === 'closed') return;
		const wasOpen = this.isOpen || this.state === 'draining';
		this.#leave('closed');
		this.countMissed('left_at_stop', this.outbox.abandon());
		if (wasOpen) this.listener.broken(this, 'closed', null);
	}

	stats(): SessionStats {
		return {
			name: this.name,
			state: this.state,
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
		if (this.state !== 'draining') this.#enter('open');
		this.#openedAt = performance.now();
		this.#connections += 1;
		clearInterval(this.#optionsTimer);
		this.#optionsTimer = setInterval(() => {
			this.withCore(() => this.wire.queueOptions());
			this.pump();
		}, OPTIONS_INTERVAL_MS).unref();
		this.outbox.requeueKept();
		this.pump();
		if (this.isOpen) this.listener.opened(this);
	}

	/** Settles the oldest written message. */
	protected settleOldest(): void {
		const settled = this.outbox.settleOldest();
		if (settled === undefined) return;
		this.wire.settled(settled.outgoing.message);
		if (settled.whole) this.listener.settled(this, settled.outgoing.parcel);
		this.#roomMade();
	}

	/** The oldest written message can never leave: this collector misses it. */
	protected giveUpOldest(reason: string): void {
		const settled = this.outbox.settleOldest();
		if (settled === undefined) return;
		this.countMissed(reason, settled.outgoing.message);
		if (settled.whole) this.listener.settled(this, settled.outgoing.parcel);
		this.#roomMade();
	}

	/** The connection, or the attempt at one, ended without our wanting it. */
	protected broke(reason: string): void {
		if (this.state === 'closed' || this.state === 'backoff') return;
		const stopping = this.state === 'draining';
		const wasOpen = this.isOpen || stopping;
		this.#lastError = reason;
		if (
			wasOpen &&
			performance.now() - this.#openedAt >= Math.max(this.#lastDelay, this.settings.reconnect.initial)
		) {
			this.#backoff.reset();
		}
		const delay = this.#backoff.next();
		this.#lastDelay = delay;
		this.#leave('backoff', { after: delay, next: () => this.#begin() });
		if (stopping) this.close();
		// Whoever heard that a parcel failed may have closed the session.
		if (this.#standing.phase === 'closed') {
			this.listener.broken(this, reason, null);
			return;
		}
		this.listener.broken(this, reason, delay);
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
	 * Takes nothing more until the next `opened`, so that what is on its way can be settled. False: that took longer than
	 * a second, the connection ended, or it is stalled; then the session goes on as if nothing had been asked.
	 */
	protected async quiesce(): Promise<boolean> {
		const { phase } = this.#standing;
		if (phase !== 'open' && phase !== 'full') return false;
		const emptied = new Promise<boolean>((resolve) => this.#wait('moving', resolve));
		this.#roomMade();
		return emptied;
	}

	/**
	 * What is held cannot leave in the form that it has: it fails, as when a connection breaks, and nothing is taken until
	 * the next `opened`.
	 */
	protected startOver(): void {
		if (!this.isOpen) return;
		this.#wait('moving');
		this.wire.close();
		this.#failAll();
	}

	#begin(): void {
		this.#enter('connecting');
		this.connect();
	}

	#leave(phase: 'closed' | 'backoff', ending: { after?: number; next?(): void } = {}): void {
		clearInterval(this.#optionsTimer);
		this.disconnect();
		this.wire.close();
		this.#enter(phase, ending);
		this.#failAll();
	}

	#failAll(): void {
		for (const parcel of this.outbox.retainAll()) this.listener.failed(this, parcel);
	}

	/** Takes nothing for the moment; stalled when that is a second. */
	#wait(phase: 'full' | 'moving', emptied?: (all: boolean) => void): void {
		const next = () => {
			this.#enter('stalled');
			this.listener.stalled(this);
		};
		this.#enter(phase, { after: PATIENCE_MS, next, emptied });
	}

	/** The one place where a phase begins, and the one before it ends with all that belonged to it. */
	#enter(
		phase: Phase,
		ending: { after?: number; next?(): void; emptied?: ((all: boolean) => void) | undefined } = {},
	): void {
		const { after, next, emptied } = ending;
		const before = this.#standing;
		clearTimeout(before.timer);
		this.#standing = { phase, timer: next && setTimeout(next, after), emptied };
		before.emptied?.(false);
	}

	#roomMade(): void {
		const standing = this.#standing;
		const { octets } = this.outbox;
		if (octets === 0) {
			const { emptied } = standing;
			standing.emptied = undefined;
			emptied?.(true);
		}
		const roomy = standing.phase === 'full' && octets < this.host.window;
		if (roomy || (standing.phase === 'stalled' && octets === 0)) this.#enter('open');
		if (this.hasRoom()) this.listener.room(this);
	}
}
