/**
 * What TCP and TLS sessions share: every address of a name is tried, one write is under way at a time, and a
 * message is settled when the collector's kernel has acknowledged its last octet.
 *
 * The kernel's word is SIOCOUTQ: octets of the raw socket that are not acknowledged yet. What the collector's
 * kernel took and its program never read is beyond it.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { messageOf } from '../errors.ts';
import { type NativeSocket, native } from '../native.ts';
import { formatEndpoint, type NetworkTarget } from '../target.ts';
import { descriptorOf } from './descriptor.ts';
import { type Address, resolve } from './resolve.ts';
import { type Outgoing, Session } from './session.ts';

/** A connection that a collector has accepted. */
export interface Link {
	/** Where messages are written. */
	readonly stream: Duplex;
	/** The TCP socket below, whose octets SIOCOUTQ counts. */
	readonly raw: Socket;
}

/** Octets handed over in one write: enough to be efficient, little to have unknown fate when a session breaks. */
const WRITE_OCTETS = 256 * 1024;
const FIRST_ASK_MS = 2;
const LAST_ASK_MS = 50;

export abstract class StreamSession extends Session {
	#abort: AbortController | undefined;
	#link: Link | undefined;
	#probe: NativeSocket | undefined;
	#writing = false;
	/** Octets of the raw socket that the kernel is known to have taken. */
	#flushed = 0;
	/** Octets of them acknowledged when last asked. */
	#acknowledged = 0;
	#progressAt = 0;
	#askTimer: NodeJS.Timeout | undefined;
	#askDelay = FIRST_ASK_MS;
	#onSettled: (() => void) | undefined;

	/** Whether octets are enciphered between `stream` and `raw`, so that offsets differ. */
	protected abstract readonly ciphered: boolean;
	/** Connects to one address; rejects, with nothing left behind, when that fails or `signal` aborts. */
	protected abstract dial(address: Address, port: number, signal: AbortSignal): Promise<Link>;

	protected connect(): void {
		const abort = new AbortController();
		this.#abort = abort;
		this.#dialAll(abort.signal)
			.then((link) => (abort.signal.aborted ? link.stream.destroy() : this.#established(link)))
			.catch((error: unknown) => {
				if (!abort.signal.aborted) this.broke(messageOf(error));
			});
	}

	async #dialAll(signal: AbortSignal): Promise<Link> {
		const { host, port } = this.settings.target as NetworkTarget;
		const addresses = await resolve(host, this.settings.connectTimeout);
		const reasons: string[] = [];
		for (const address of addresses) {
			if (signal.aborted) break;
			try {
				return await this.dial(address, port, signal);
			} catch (error) {
				reasons.push(`${formatEndpoint(address.address, port)}: ${messageOf(error)}`);
			}
		}
		throw new Error(reasons.length > 0 ? reasons.join('; ') : `no address for the name ${host}`);
	}

	#established(link: Link): void {
		const { stream, raw } = link;
		try {
			this.#probe = new (native().NativeSocket)(descriptorOf(raw));
		} catch (error) {
			stream.destroy();
			this.broke(`the connection ended at once: ${messageOf(error)}`);
			return;
		}
		this.#link = link;
		this.#writing = false;
		this.#flushed = raw.bytesWritten;
		this.#acknowledged = 0;
		this.#progressAt = performance.now();
		// An IPFIX collector says nothing; what comes all the same is read and dropped, or its end would go unseen.
		stream.resume();
		stream.on('error', (error) => this.#ended(link, explain(error)));
		stream.on('end', () => this.#ended(link, 'closed by the collector'));
		stream.on('close', () => this.#ended(link, 'closed'));
		this.opened(this.settings.maxMessageSize ?? 65_535);
	}

	#ended(link: Link, reason: string): void {
		if (this.#link === link) this.broke(reason);
	}

	protected pump(): void {
		const link = this.#link;
		if (link === undefined || this.#writing) return;
		const chunks: Buffer[] = this.control.splice(0);
		let octets = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
		const before = link.raw.bytesWritten;
		const group: Outgoing[] = [];
		while (octets < WRITE_OCTETS) {
			const outgoing = this.queue.shift();
			if (outgoing === undefined) break;
			const header = this.stamp(outgoing.message);
			chunks.push(header, outgoing.message.body);
			octets += header.length + outgoing.message.body.length;
			outgoing.written = true;
			outgoing.end = this.ciphered ? Number.POSITIVE_INFINITY : before + octets;
			group.push(outgoing);
			this.unsettled.push(outgoing);
		}
		const last = chunks.pop();
		if (last === undefined) return;
		this.#writing = true;
		if (this.#askTimer === undefined) this.#progressAt = performance.now();
		link.stream.cork();
		for (const chunk of chunks) link.stream.write(chunk);
		link.stream.write(last, (error) => {
			if (this.#link !== link || error) return;
			this.#writing = false;
			this.sentBytes += octets;
			this.#flushed = link.raw.bytesWritten;
			// Under TLS the octets of a message cannot be told from its neighbours': the whole write ends together.
			if (this.ciphered) for (const outgoing of group) outgoing.end = this.#flushed;
			this.#progressAt = performance.now();
			this.#settle();
			this.pump();
		});
		link.stream.uncork();
		this.#askLater();
	}

	#settle(): void {
		if (this.#probe === undefined) return;
		let waiting: number;
		try {
			waiting = this.#probe.unacknowledged();
		} catch {
			return; // Unknown counts as unsettled.
		}
		const acknowledged = this.#flushed - waiting;
		if (acknowledged > this.#acknowledged) {
			this.#acknowledged = acknowledged;
			this.#progressAt = performance.now();
			this.#askDelay = FIRST_ASK_MS;
		}
		for (
			let oldest = this.unsettled[0];
			oldest !== undefined && oldest.end <= acknowledged;
			oldest = this.unsettled[0]
		) {
			this.settleOldest();
		}
	}

	#askLater(): void {
		if (this.#askTimer !== undefined) return;
		this.#askTimer = setTimeout(() => {
			this.#askTimer = undefined;
			this.#settle();
			if (this.#link === undefined) return;
			if (!this.#writing && this.#acknowledged >= this.#flushed) {
				this.#onSettled?.();
				return;
			}
			const quiet = performance.now() - this.#progressAt;
			if (quiet >= this.settings.stallTimeout) {
				this.broke(
					`stalled: ${this.pendingBytes} octets wait and none was taken for ${this.settings.stallTimeout} ms`,
				);
				return;
			}
			this.#askDelay = Math.min(LAST_ASK_MS, this.#askDelay * 1.5);
			this.#askLater();
		}, this.#askDelay);
	}

	protected disconnect(): void {
		this.#abort?.abort();
		this.#abort = undefined;
		const link = this.#link;
		if (link === undefined) return;
		this.#settle();
		this.#drop();
		link.stream.on('error', () => undefined);
		// With octets on their way an orderly end could hang for as long as the collector likes.
		if (this.unsettled.length > 0 && !this.ciphered) link.raw.resetAndDestroy();
		else link.stream.destroy();
	}

	protected async finish(): Promise<void> {
		const link = this.#link;
		if (link === undefined) return;
		// Templates and options are not settled one by one; wait until they, too, are acknowledged.
		if (this.#writing || this.#acknowledged < this.#flushed) {
			await new Promise<void>((resolve) => {
				this.#onSettled = resolve;
				this.#askLater();
				link.stream.once('close', resolve);
			});
		}
		if (this.#link !== link) return;
		this.#drop();
		await new Promise<void>((resolve) => {
			const timer = setTimeout(() => link.stream.destroy(), 1_000);
			link.stream.on('error', () => undefined);
			link.stream.once('close', () => {
				clearTimeout(timer);
				resolve();
			});
			link.stream.end();
		});
	}

	#drop(): void {
		this.#link = undefined;
		clearTimeout(this.#askTimer);
		this.#askTimer = undefined;
		this.#askDelay = FIRST_ASK_MS;
		this.#onSettled?.();
		this.#onSettled = undefined;
		// The copy of the descriptor would hold back the end of the connection.
		this.#probe?.close();
		this.#probe = undefined;
	}
}

const REASONS: Readonly<Record<string, string>> = {
	ECONNREFUSED: 'connection refused',
	ECONNRESET: 'reset by the collector',
	EPIPE: 'closed by the collector',
	ETIMEDOUT: 'timed out',
	EHOSTUNREACH: 'no route to the host',
	ENETUNREACH: 'network unreachable',
};

/** The reason that people read; of a TLS alert the words, such as "tlsv13 alert certificate required". */
export function explain(error: Error & { code?: string; reason?: string }): string {
	return REASONS[error.code ?? ''] ?? error.reason ?? error.message;
}
