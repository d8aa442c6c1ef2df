/**
 * What one collector is told in IPFIX. Each connection begins with a fresh state: nothing of an earlier one leaks
 * into it, sequence numbers begin at 0. Templates and options records wait in `control` and go before the next data.
 */
import type { NativeMessage, NativeSession } from '../core/native.ts';
import { sizeOf } from './parcel.ts';
import type { SessionHost } from './session_host.ts';

export class Wire {
	/** Whole messages. */
	readonly control: Buffer[] = [];
	/** Of all connections together, as options records and `stats` tell them. */
	sentMessages = 0;
	exportedRecords = 0;
	exportedOctets = 0;
	readonly #host: SessionHost;
	readonly #options: boolean;
	#session: NativeSession | undefined;
	#format = 0;

	constructor(host: SessionHost, options: boolean) {
		this.#host = host;
		this.#options = options;
	}

	/** Format of the current connection. */
	get format(): number {
		return this.#format;
	}

	open(maxMessageSize: number): void {
		this.#format = this.#host.format(maxMessageSize);
		this.#session = this.#host.wire(this.#format);
		this.repeatStart();
	}

	/** What a session begins with, in its place in the sequence. */
	repeatStart(): void {
		this.control.length = 0;
		// libfixbuf applies the types of private elements only to templates that come after them.
		this.queueOptions();
		this.queueTemplates();
	}

	close(): void {
		this.#session = undefined;
		this.control.length = 0;
	}

	queueTemplates(): void {
		if (this.#session !== undefined) this.control.push(this.#session.templates(exportTime()));
	}

	queueOptions(): void {
		if (this.#session === undefined || !this.#options) return;
		const lost = this.#host.losses();
		const octets = this.#session.options(
			{
				processId: process.pid,
				lostRecords: lost.records,
				lostPackets: lost.packets,
				lostOctets: lost.octets,
				lossesFrom: lost.from,
				lossesTo: lost.to,
				exportedMessages: this.sentMessages,
				exportedRecords: this.exportedRecords,
				exportedOctets: this.exportedOctets,
			},
			exportTime(),
		);
		if (octets.length > 0) this.control.push(octets);
	}

	/** The header with which a message leaves now. */
	stamp(message: NativeMessage): Buffer {
		if (this.#session === undefined) throw new Error('a message is stamped on an open connection only');
		this.sentMessages += 1;
		return this.#session.header(message.body.length, message.records, exportTime());
	}

	settled(message: NativeMessage): void {
		this.exportedRecords += message.records;
		this.exportedOctets += sizeOf(message);
	}
}

/** Seconds since 1970, for the header: taken when the message leaves (RFC 7011 section 5.1). */
function exportTime(): number {
	return Math.floor(Date.now() / 1000);
}
