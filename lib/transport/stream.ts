/**
 * What TCP and TLS sessions share: the addresses of a name are tried side by side, one write is under way at a time, and
 * a message is settled when the collector's kernel has acknowledged its last octet.
 *
 * The kernel's word is TCP_INFO: octets of the raw socket that were acknowledged, and that have left. It holds while a
 * write is under way and after a reset. What the collector's kernel took and its program never read is beyond it.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { messageOf } from '../errors.ts';
import { formatEndpoint, type NetworkTarget } from '../options/target.ts';
import { dialTcp } from './dial_tcp.ts';
import { dialFirst } from './dialling.ts';
import type { Outgoing } from './parcel.ts';
import { Probe } from './probe.ts';
import { explain } from './reasons.ts';
import { type Address, resolve } from './resolve.ts';
import { Session } from './session.ts';

/** A connection that a collector has accepted. */
export interface Link {
	/** Where messages are written. */
	readonly stream: Duplex;
	/** The TCP socket below, whose octets the kernel's TCP_INFO counts. */
	readonly raw: Socket;
	/** Called when the session goes on over it. */
	taken?(): void;
}

/** Octets handed over in one write: enough to be efficient, little to have unknown fate when a session breaks. */
const WRITE_OCTETS = 256 * 1024;
const FIRST_ASK_MS = 2;
const LAST_ASK_MS = 50;
/** Longest that settling keeps the JavaScript thread. */
const TURN_MS = 0.5;

export abstract class StreamSession extends Session {
	#abort: AbortController | undefined;
	#link: Link | undefined;
	#probe: Probe | undefined;
	#writing = false;
	/** Octets of the raw socket that the kernel is known to have taken. */
	#flushed = 0;
	/** Octets of them acknowledged when last asked. */
	#acknowledged = 0;
	#progressAt = 0;
	#askTimer: NodeJS.Timeout | undefined;
	#askDelay = FIRST_ASK_MS;
	#settleLater: NodeJS.Immediate | undefined;
	#onSettled: (() => void) | undefined;
	#renewal: AbortController | undefined;

	/** Whether octets are enciphered between `stream` and `raw`, so that offsets differ. */
	protected abstract readonly ciphered: boolean;
	/**
	 * Before anything is dialled. Gives what makes a link of a TCP connection; that rejects, with nothing left behind,
	 * when it fails or `signal` aborts.
	 */
	protected abstract prepare(): Promise<(raw: Socket, signal: AbortSignal) => Promise<Link>>;

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
		const link = await this.prepare();
		let addresses: readonly Address[] = await resolve(host, this.settings.connectTimeout, signal);
		const reasons: string[] = [];
		const failed = ({ address }: Address, reason: string) =>
			reasons.push(`${formatEndpoint(address, port)}: ${reason}`);
		while (addresses.length > 0 && !signal.aborted) {
			const dialled = await dialFirst<Socket>(addresses, {
				dial: (address, others) => dialTcp(address, port, this.settings.connectTimeout, others, this.host),
				drop: (raw) => raw.destroy(),
				failed: (address, reason) => {
					addresses = addresses.filter((other) => other !== address);
					failed(address, reason);
				},
				signal,
			});
			if (dialled === undefined) break;
			const { address, connection } = dialled;
			try {
				return await link(connection, signal);
			} catch (error) {
				// It answered and cannot be used. Those that it was quicker than have their turn.
				failed(address, messageOf(error));
				addresses = addresses.filter((other) => other !== address);
			}
		}
		throw new Error(reasons.length > 0 ? reasons.join('; ') : `no address for the name ${host}`);
	}

	#established(link: Link): void {
		const { stream, raw } = link;
		try {
			this.#probe = new Probe(raw);
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
		link.taken?.();
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
		const chunks: Buffer[] = this.wire.control.splice(0);
		let octets = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
		const before = link.raw.bytesWritten;
		const group: Outgoing[] = [];
		while (octets < WRITE_OCTETS) {
			const outgoing = this.outbox.next();
			if (outgoing === undefined) break;
			const header = this.stamp(outgoing.message);
			if (header === undefined) return;
			chunks.push(header, outgoing.message.body);
			octets += header.length + outgoing.message.body.length;
			outgoing.leastEnd = before + octets;
			outgoing.end = this.ciphered ? Number.POSITIVE_INFINITY : outgoing.leastEnd;
			group.push(outgoing);
			// Under TLS the octets of a message cannot be told from its neighbours': each is a write of its own.
			if (this.ciphered) break;
		}
		const last = chunks.pop();
		if (last === undefined) return;
		this.#writing = true;
		// Where nothing waited, the time without progress begins now. What our own kernel takes is none.
		if (this.#askTimer === undefined) this.#progressAt = performance.now();
		link.stream.cork();
		for (const chunk of chunks) link.stream.write(chunk);
		link.stream.write(last, (error) => {
			if (this.#link !== link || error) return;
			this.#writing = false;
			this.sentBytes += octets;
			this.#flushed = link.raw.bytesWritten;
			if (this.ciphered) for (const outgoing of group) outgoing.end = this.#flushed;
			this.#settle();
			this.pump();
		});
		link.stream.uncork();
		this.#askLater();
	}

	#settle(): void {
		const acknowledged = this.#probe?.progress()?.acknowledged;
		if (acknowledged === undefined) return; // Unknown counts as unsettled.
		if (acknowledged > this.#acknowledged) {
			this.#acknowledged = acknowledged;
			this.#progressAt = performance.now();
			this.#askDelay = FIRST_ASK_MS;
		}
		const end = performance.now() + TURN_MS;
		while (this.#settleNext()) {
			if (performance.now() < end) continue;
			this.#settleLater ??= setImmediate(() => {
				this.#settleLater = undefined;
				this.#settle();
			});
			return;
		}
	}

	#settleNext(): boolean {
		const [oldest] = this.outbox.unsettled;
		if (oldest === undefined || oldest.end > this.#acknowledged) return false;
		this.settleOldest();
		return true;
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
					`stalled: ${this.outbox.octets} octets wait and none was acknowledged for ${this.settings.stallTimeout} ms`,
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
		this.#renewal?.abort();
		const link = this.#link;
		if (link === undefined) return;
		// An end may come before the acknowledgements that are known were looked at.
		const { acknowledged, sent } = this.#probe?.progress() ?? {
			acknowledged: 0,
			sent: Number.POSITIVE_INFINITY,
		};
		this.#acknowledged = Math.max(this.#acknowledged, acknowledged);
		while (this.#settleNext());
		for (const outgoing of this.outbox.unsettled) outgoing.mayHaveArrived = outgoing.leastEnd <= sent;
		// What the kernel still has queued will be sent again elsewhere: it must not leave after all.
		if (this.outbox.unsettled.length > 0) this.#probe?.resetOnClose();
		this.#drop();
		link.stream.on('error', () => undefined);
		link.stream.destroy();
	}

	/**
	 * Connects anew beside the present connection and, once the new one is accepted and the present one has nothing
	 * left to settle, goes on over it. True: it has moved. Where the new one fails, the present one stays: rejects with
	 * the reason.
	 */
	protected async renew(): Promise<boolean> {
		if (!this.isOpen || this.#renewal !== undefined) return false;
		const abort = new AbortController();
		this.#renewal = abort;
		try {
			const link = await this.#dialAll(abort.signal);
			let ended = '';
			link.stream.on('error', (error) => {
				ended ||= explain(error);
			});
			link.stream.once('close', () => {
				ended ||= 'closed by the collector';
			});
			if (abort.signal.aborted || !(await this.quiesce())) {
				link.stream.destroy();
				return false;
			}
			await this.finish();
			if (!this.isOpen || ended !== '') {
				link.stream.destroy();
				if (this.isOpen) this.broke(ended);
				return false;
			}
			this.#established(link);
			return true;
		} catch (error) {
			if (abort.signal.aborted) return false;
			throw error;
		} finally {
			if (this.#renewal === abort) this.#renewal = undefined;
		}
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
		clearImmediate(this.#settleLater);
		this.#settleLater = undefined;
		this.#askDelay = FIRST_ASK_MS;
		this.#onSettled?.();
		this.#onSettled = undefined;
		// The copy of the descriptor would hold back the end of the connection.
		this.#probe?.close();
		this.#probe = undefined;
	}
}
