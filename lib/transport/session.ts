/**
 * A session: what one collector is to us over time, through every connection to it.
 *
 * Parcels enter by `send`, one for each batch that this collector takes part in, and leave through the listener:
 * `settled` once, or `failed` whenever the connection that carried them broke. After `failed` the parcel's
 * unsettled messages are kept until the listener decides: `discard` (the batch was rolled back, its records will
 * come again in another one) or `keep` (the batch was committed through another collector: they are sent here
 * first thing after reconnecting). Read `SessionState` and `Parcel` first.
 */

import type { NativeMessage, NativeSession, OwnSession } from '../native.ts';
import type { CollectorSettings } from '../options.ts';
import { Backoff } from './backoff.ts';

/**
 * connecting → open ⇄ stalled → draining → closed, and from each but closed → backoff → connecting.
 * stalled: the window has been full for a second; the session takes nothing until all of it is settled.
 * draining: takes nothing more and closes when all is settled.
 */
export type SessionState = 'connecting' | 'open' | 'stalled' | 'draining' | 'closed' | 'backoff';

/** The messages of one batch in one session's format. */
export interface Parcel {
	readonly messages: readonly NativeMessage[];
}

export interface Amount {
	records: number;
	packets: number;
	octets: number;
}

/** What a session needs of the exporter that it serves. */
export interface SessionHost {
	/** The number of the compiled format with this message size. */
	format(maxMessageSize: number): number;
	/** Header, template and options octets of one connection; sequence numbers begin at 0. */
	wire(format: number): NativeSession;
	addOwn(own: OwnSession): void;
	removeOwn(own: OwnSession): void;
	/** What options records say of the whole exporter. */
	losses(): Amount & { from: number; to: number };
	readonly window: number;
}

export interface SessionListener {
	opened(session: Session): void;
	/** `retryInMs` null: it was closed on purpose. */
	broken(session: Session, reason: string, retryInMs: number | null): void;
	/** It may take a parcel again. */
	room(session: Session): void;
	settled(session: Session, parcel: Parcel): void;
	failed(session: Session, parcel: Parcel): void;
	/** Records that this collector will not get. */
	lost(session: Session, reason: string, amount: Amount): void;
}

/** A message on its way: queued, then written, then settled. */
export interface Outgoing {
	readonly parcel: Parcel;
	readonly message: NativeMessage;
	/** Whether any octet of it may have left: sent again, it may be a duplicate. */
	written: boolean;
	/** Offset in the connection's stream at which it ends. */
	end: number;
}

export interface SessionStats {
	name: string;
	state: SessionState;
	/** Why the last connection ended, or null. */
	lastError: string | null;
	unsettledBytes: number;
	sentBytes: number;
	sentMessages: number;
	exportedRecords: number;
	exportedOctets: number;
	/** Records sent again after a break that may have arrived the first time. */
	duplicateRecords: number;
	connections: number;
	lost: Array<Amount & { reason: string }>;
}

const FULL_PATIENCE_MS = 1_000;
const OPTIONS_INTERVAL_MS = 600_000;
const HEADER_OCTETS = 16;

export abstract class Session {
	readonly settings: CollectorSettings;
	protected readonly host: SessionHost;
	protected readonly listener: SessionListener;
	protected wire: NativeSession | undefined;
	/** Not yet handed to the kernel. */
	protected readonly queue: Outgoing[] = [];
	/** Handed to the kernel, in order, not yet settled. */
	protected readonly unsettled: Outgoing[] = [];
	/** Templates and options that go before the next data. */
	protected readonly control: Buffer[] = [];
	protected sentBytes = 0;
	protected sentMessages = 0;

	#state: SessionState = 'closed';
	#format = 0;
	readonly #backoff: Backoff;
	readonly #retained = new Map<Parcel, { kept: boolean; messages: Outgoing[] }>();
	readonly #remaining = new Map<Parcel, number>();
	readonly #lost = new Map<string, Amount>();
	#pendingBytes = 0;
	#openedAt = 0;
	#lastDelay = 0;
	#timer: NodeJS.Timeout | undefined;
	#optionsTimer: NodeJS.Timeout | undefined;
	#fullTimer: NodeJS.Timeout | undefined;
	#drained: (() => void) | undefined;
	#lastError: string | null = null;
	#connections = 0;
	#reopening = false;
	#duplicateRecords = 0;
	#exportedRecords = 0;
	#exportedOctets = 0;

	constructor(settings: CollectorSettings, host: SessionHost, listener: SessionListener) {
		this.settings = settings;
		this.host = host;
		this.listener = listener;
		this.#backoff = new Backoff(settings.reconnect);
	}

	/** Begins a connection; ends in `opened` or `broke`. Must not throw. */
	protected abstract connect(): void;
	/** Writes control and queue for as long as the connection takes them. */
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
		return this.#format;
	}

	get isOpen(): boolean {
		return this.#state === 'open' || this.#state === 'stalled';
	}

	/** Octets queued, unsettled or kept for later. */
	get pendingBytes(): number {
		return this.#pendingBytes;
	}

	hasRoom(): boolean {
		return this.#state === 'open' && this.#pendingBytes < this.host.window;
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
		this.#remaining.set(parcel, parcel.messages.length);
		for (const message of parcel.messages) {
			this.#pendingBytes += sizeOf(message);
			this.queue.push({ parcel, message, written: false, end: 0 });
		}
		this.#watchRoom();
		this.pump();
	}

	/** The batch of this failed parcel was rolled back. */
	discard(parcel: Parcel): void {
		const retained = this.#retained.get(parcel);
		if (retained === undefined) return;
		this.#retained.delete(parcel);
		this.#remaining.delete(parcel);
		for (const { message, written } of retained.messages) {
			this.#pendingBytes -= sizeOf(message);
			if (written) this.#duplicateRecords += message.records;
		}
		this.#roomMade();
	}

	/** The batch of this failed parcel was committed elsewhere: this collector still gets it, later. */
	keep(parcel: Parcel): void {
		const retained = this.#retained.get(parcel);
		if (retained === undefined) return;
		retained.kept = true;
		if (this.isOpen) this.#resend();
	}

	/**
	 * Takes nothing more; resolves when everything is settled and the connection is closed, or cannot be any more.
	 * `close` ends it earlier.
	 */
	async drain(): Promise<void> {
		if (this.isOpen || this.#state === 'draining') {
			this.#state = 'draining';
			this.#reopening = false;
			await this.#emptied();
			// It may have broken or been closed meanwhile.
			if (this.state === 'draining') await this.finish();
		}
		this.close();
	}

	/** Ends at once, whatever the state. What is left counts as lost for this collector if it was kept for it. */
	close(): void {
		if (this.#state === 'closed') return;
		const wasOpen = this.isOpen || this.#state === 'draining';
		this.#leave('closed');
		for (const { kept, messages } of this.#retained.values()) if (kept) this.lose('left-at-stop', messages);
		for (const parcel of [...this.#retained.keys()]) this.discard(parcel);
		if (wasOpen) this.listener.broken(this, 'closed', null);
	}

	stats(): SessionStats {
		return {
			name: this.name,
			state: this.#state,
			lastError: this.#lastError,
			unsettledBytes: this.#pendingBytes,
			sentBytes: this.sentBytes,
			sentMessages: this.sentMessages,
			exportedRecords: this.#exportedRecords,
			exportedOctets: this.#exportedOctets,
			duplicateRecords: this.#duplicateRecords,
			connections: this.#connections,
			lost: [...this.#lost].map(([reason, amount]) => ({ reason, ...amount })),
		};
	}

	/** Counts records that this collector was not given at all. */
	countMissed(reason: string, amount: Amount): void {
		const sum = this.#lost.get(reason) ?? { records: 0, packets: 0, octets: 0 };
		sum.records += amount.records;
		sum.packets += amount.packets;
		sum.octets += amount.octets;
		this.#lost.set(reason, sum);
		this.listener.lost(this, reason, amount);
	}

	/**
	 * The connection stands: templates first, then what was kept, then new parcels. After `prepare` on the same
	 * connection the templates go out again and the sequence numbers count on (RFC 7011 section 3.1).
	 */
	protected opened(maxMessageSize: number): void {
		if (this.wire === undefined) {
			this.prepare(maxMessageSize);
		} else {
			this.queueStart();
		}
		this.#state = 'open';
		this.#openedAt = performance.now();
		this.#connections += 1;
		this.#resend();
		this.pump();
		if (this.#state !== 'open') return;
		this.#optionsTimer = setInterval(() => {
			this.queueOptions();
			this.pump();
		}, OPTIONS_INTERVAL_MS).unref();
		this.listener.opened(this);
	}

	/** A fresh wire state: nothing of an earlier connection leaks into this one. */
	protected prepare(maxMessageSize: number): void {
		this.#format = this.host.format(maxMessageSize);
		this.wire = this.host.wire(this.#format);
		this.control.length = 0;
		this.queueStart();
	}

	/** What a session begins with. libfixbuf reads private elements right only in templates that follow their types. */
	protected queueStart(): void {
		this.queueOptions();
		this.queueTemplates();
	}

	protected queueTemplates(): void {
		if (this.wire !== undefined) this.control.push(this.wire.templates(exportTime()));
	}

	protected queueOptions(): void {
		if (this.wire === undefined || !this.settings.options) return;
		const lost = this.host.losses();
		const octets = this.wire.options(
			{
				processId: process.pid,
				lostRecords: lost.records,
				lostPackets: lost.packets,
				lostOctets: lost.octets,
				lossesFrom: lost.from,
				lossesTo: lost.to,
				exportedMessages: this.sentMessages,
				exportedRecords: this.#exportedRecords,
				exportedOctets: this.#exportedOctets,
			},
			exportTime(),
		);
		if (octets.length > 0) this.control.push(octets);
	}

	/** The header with which a message leaves now. */
	protected stamp(message: NativeMessage): Buffer {
		if (this.wire === undefined) throw new Error('a message is stamped on an open connection only');
		this.sentMessages += 1;
		return this.wire.header(message.body.length, message.records, exportTime());
	}

	/** Settles the oldest written message. */
	protected settleOldest(): void {
		const outgoing = this.unsettled.shift();
		if (outgoing === undefined) return;
		const { parcel, message } = outgoing;
		this.#pendingBytes -= sizeOf(message);
		this.#exportedRecords += message.records;
		this.#exportedOctets += sizeOf(message);
		const left = (this.#remaining.get(parcel) ?? 1) - 1;
		if (left > 0) {
			this.#remaining.set(parcel, left);
		} else {
			this.#remaining.delete(parcel);
			this.listener.settled(this, parcel);
		}
		this.#roomMade();
	}

	/** Records in these messages will not reach this collector. */
	protected lose(reason: string, messages: Iterable<{ message: NativeMessage }>): void {
		const amount = { records: 0, packets: 0, octets: 0 };
		for (const { message } of messages) {
			amount.records += message.records;
			amount.packets += message.packets;
			amount.octets += message.octets;
		}
		if (amount.records > 0) this.countMissed(reason, amount);
	}

	/** The connection, or the attempt at one, ended without our wanting it. */
	protected broke(reason: string): void {
		if (this.#state === 'closed' || this.#state === 'backoff') return;
		const stopping = this.#state === 'draining' && !this.#reopening;
		const wasOpen = this.isOpen || this.#state === 'draining';
		this.#lastError = reason;
		if (
			wasOpen &&
			performance.now() - this.#openedAt >= Math.max(this.#lastDelay, this.settings.reconnect.initial)
		) {
			this.#backoff.reset();
		}
		this.#lastDelay = this.#backoff.next();
		this.#leave('backoff');
		if (stopping) {
			this.close();
			this.listener.broken(this, reason, null);
			return;
		}
		this.listener.broken(this, reason, this.#lastDelay);
		if (this.state === 'backoff') this.#timer = setTimeout(() => this.#begin(), this.#lastDelay);
	}

	/** Closes the connection once all is settled and connects anew at once, for new certificates or a new file. */
	protected async reopen(): Promise<void> {
		if (!this.isOpen) return;
		this.#state = 'draining';
		this.#reopening = true;
		await this.#emptied();
		if (this.state === 'draining') await this.finish();
		if (this.state !== 'draining') return;
		this.#leave('backoff');
		this.#begin();
	}

	#emptied(): Promise<void> {
		if (this.#pendingBytes === 0) return Promise.resolve();
		return new Promise((resolve) => {
			this.#drained = resolve;
		});
	}

	#begin(): void {
		clearTimeout(this.#timer);
		this.#reopening = false;
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
		this.wire = undefined;
		this.control.length = 0;
		const failed = new Map<Parcel, Outgoing[]>();
		for (const outgoing of [...this.unsettled.splice(0), ...this.queue.splice(0)]) {
			const messages = failed.get(outgoing.parcel) ?? [];
			messages.push(outgoing);
			failed.set(outgoing.parcel, messages);
		}
		for (const [parcel, messages] of failed) this.#retained.set(parcel, { kept: false, messages });
		for (const parcel of failed.keys()) this.listener.failed(this, parcel);
		this.#drained?.();
		this.#drained = undefined;
	}

	#resend(): void {
		const again: Outgoing[] = [];
		for (const [parcel, { kept, messages }] of this.#retained) {
			if (!kept) continue;
			this.#retained.delete(parcel);
			for (const outgoing of messages) {
				if (outgoing.written) this.#duplicateRecords += outgoing.message.records;
				again.push({ ...outgoing, end: 0 });
			}
		}
		this.queue.unshift(...again);
		if (again.length > 0) this.pump();
	}

	#watchRoom(): void {
		if (this.#pendingBytes < this.host.window || this.#fullTimer !== undefined || this.#state !== 'open')
			return;
		this.#fullTimer = setTimeout(() => {
			this.#fullTimer = undefined;
			if (this.#state !== 'open') return;
			this.#state = 'stalled';
			this.listener.room(this);
		}, FULL_PATIENCE_MS).unref();
	}

	#roomMade(): void {
		if (this.#pendingBytes < this.host.window) {
			clearTimeout(this.#fullTimer);
			this.#fullTimer = undefined;
		}
		if (this.#pendingBytes === 0) {
			if (this.#state === 'stalled') this.#state = 'open';
			this.#drained?.();
		}
		if (this.hasRoom()) this.listener.room(this);
	}
}

/** Seconds since 1970, for the header: taken when the message leaves (RFC 7011 section 5.1). */
function exportTime(): number {
	return Math.floor(Date.now() / 1000);
}

export function sizeOf(message: NativeMessage): number {
	return message.body.length + HEADER_OCTETS;
}
