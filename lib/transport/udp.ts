/**
 * IPFIX over UDP (RFC 7011 section 10.3): one connected socket, datagrams no larger than the path takes.
 *
 * A message is settled when the kernel took it; nobody acknowledges a datagram. What is heard of a collector is that a
 * datagram was refused: its records are lost and counted; the session ends, and its next socket is a new session with
 * templates first, which takes records only after a quiet time without refusals.
 *
 * A session moves to a new socket, without losing anything, when the name has another address, and when the path takes
 * messages of another size.
 */
import { isIP } from 'node:net';
import { codeOf, messageOf, toError } from '../errors.ts';
import type { CollectorSettings } from '../options/options.ts';
import { formatEndpoint, type NetworkTarget } from '../options/target.ts';
import { Datagrams, headOf, messageIn } from './datagram.ts';
import { type Outgoing, sizeOf } from './parcel.ts';
import { explain } from './reasons.ts';
import { type Address, resolve } from './resolve.ts';
import { Session } from './session.ts';
import type { SessionHost, SessionListener } from './session_host.ts';

/** No packet larger than this by default, whatever the path's first hop takes. */
const ETHERNET_MTU = 1_500;
/** RFC 7011 section 10.3.3: at most this when the path MTU is unknown. */
const UNKNOWN_PATH_OCTETS = 512;
/** Time for a refusal of the first templates to come back; longer after one came. */
const QUIET_MS = 100;
const QUIET_AFTER_REFUSAL_MS = 1_000;
/** An attempt is a few datagrams: a collector that is back decodes within 5 s, whatever `reconnect.max` is. */
const LONGEST_BACKOFF_MS = 4_000;
const NO_BUFFER_DELAY_MS = 10;
/** The name is asked for again at a refresh of templates, not more often than the one, nor more rarely than the other. */
const SOONEST_LOOKUP_MS = 10_000;
const LATEST_LOOKUP_MS = 60_000;
const LENGTH_OFFSET = 2;

export class UdpSession extends Session {
	/** Ends with the attempt under way, or with the socket that came of it. */
	#life = new AbortController();
	/** The socket that the templates have been sent on and that is not in service yet. */
	#trying: Datagrams | undefined;
	#socket: Datagrams | undefined;
	#messageSize = 0;
	#sending = false;
	/** The data datagram that the kernel was given and has not said whether it took. */
	#handed: Outgoing | undefined;
	#timer: NodeJS.Timeout | undefined;
	#refreshTimer: NodeJS.Timeout | undefined;
	#openedAt = 0;
	#lookedUpAt = 0;
	#packetsSinceTemplates = 0;
	#templatesAt = 0;
	/** Addresses that have refused a datagram since the session was last open. */
	readonly #refusing = new Set<string>();
	#unknownPathTold = false;

	constructor(settings: CollectorSettings, host: SessionHost, listener: SessionListener) {
		const { initial, max } = settings.reconnect;
		const reconnect = {
			initial: Math.min(initial, LONGEST_BACKOFF_MS),
			max: Math.min(max, LONGEST_BACKOFF_MS),
		};
		super({ ...settings, reconnect }, host, listener);
	}

	get #target(): NetworkTarget {
		return this.settings.target as NetworkTarget;
	}

	protected connect(): void {
		this.#begin();
	}

	/** `known`: addresses that need not be asked for. */
	#begin(known?: readonly Address[]): void {
		const life = new AbortController();
		this.#life = life;
		this.#open(life.signal, known).catch((error: unknown) => {
			if (!life.signal.aborted) this.broke(messageOf(error));
		});
	}

	/** The addresses in turn, until one of them does not refuse the templates. */
	async #open(signal: AbortSignal, known?: readonly Address[]): Promise<void> {
		const { host, port } = this.#target;
		if (known === undefined) this.#lookedUpAt = performance.now();
		const addresses = known ?? (await resolve(host, this.settings.connectTimeout, signal));
		const reasons: string[] = [];
		for (const address of addresses) {
			try {
				const socket = await this.#try(address, signal);
				if (signal.aborted) return;
				this.#serve(socket);
				return;
			} catch (error) {
				if (signal.aborted) return;
				this.#close(this.#trying);
				this.#trying = undefined;
				const reason = wordsOf(toError(error));
				reasons.push(addresses.length > 1 ? `${formatEndpoint(address.address, port)}: ${reason}` : reason);
			}
		}
		throw new Error(reasons.length > 0 ? reasons.join('; ') : `no address for the name ${host}`);
	}

	/** Sends what a session begins with, and waits whether it is refused. */
	async #try(address: Address, signal: AbortSignal): Promise<Datagrams> {
		const socket = await Datagrams.connect(address, this.#target.port);
		if (signal.aborted) {
			socket.close(() => undefined);
			return socket;
		}
		this.#trying = socket;
		this.host.addOwn(socket.own);
		this.#messageSize = this.#sizeOn(socket);
		this.wire.open(this.#messageSize);
		await new Promise<void>((quiet, refused) => {
			const failed = (error: Error) => {
				this.#hear(socket, error);
				refused(error);
			};
			socket.onError(failed);
			this.#sendControl(socket, failed, () => {
				const patience = this.#refusing.has(address.address) ? QUIET_AFTER_REFUSAL_MS : QUIET_MS;
				this.#timer = setTimeout(quiet, patience);
			});
		});
		return socket;
	}

	#serve(socket: Datagrams): void {
		this.#trying = undefined;
		this.#socket = socket;
		this.#sending = false;
		this.#openedAt = performance.now();
		this.#refusing.clear();
		socket.onError((error) => this.#failed(socket, error));
		this.#refreshTimer = setInterval(() => this.#refresh(socket), LATEST_LOOKUP_MS).unref();
		// Sends the templates again: a refusal still under way shows at this send.
		this.withCore(() => this.opened(undefined));
	}

	/** Octets of a message on this path, header included. */
	#sizeOn(socket: Datagrams): number {
		const most = this.settings.maxMessageSize ?? messageIn(ETHERNET_MTU, socket.address);
		const onPath = socket.messageSize();
		if (onPath === null && !this.#unknownPathTold) {
			this.#unknownPathTold = true;
			this.listener.warned(this, {
				code: 'PATH_MTU_UNKNOWN',
				message: `the kernel does not tell how large a datagram the path takes: messages have at most ${UNKNOWN_PATH_OCTETS} octets`,
			});
		}
		return Math.min(most, onPath ?? UNKNOWN_PATH_OCTETS);
	}

	/** Sends each message of the control buffers as a datagram of its own, then calls `done`. */
	#sendControl(socket: Datagrams, failed: (error: Error) => void, done: () => void): void {
		const [datagram] = this.wire.control;
		if (datagram === undefined) {
			done();
			return;
		}
		const length =
			datagram.length > LENGTH_OFFSET + 2 ? datagram.readUInt16BE(LENGTH_OFFSET) : datagram.length;
		const message = datagram.subarray(0, length);
		const rest = datagram.subarray(length);
		this.#send(socket, [message], failed, () => {
			if (rest.length > 0 && length > 0) this.wire.control[0] = rest;
			else this.wire.control.shift();
			this.#packetsSinceTemplates = 0;
			this.#templatesAt = performance.now();
			this.#sendControl(socket, failed, done);
		});
	}

	protected pump(): void {
		const socket = this.#socket;
		if (socket === undefined || this.#sending || !(this.isOpen || this.state === 'draining')) return;
		this.#sending = true;
		if (this.wire.control.length === 0 && this.#templatesAreOld()) {
			this.withCore(() => this.wire.queueTemplates());
			this.#refresh(socket);
			if (this.#socket !== socket) return;
		}
		this.#sendControl(
			socket,
			(error) => this.#failed(socket, error),
			() => this.#sendNext(socket),
		);
	}

	#templatesAreOld(): boolean {
		const { templateRefresh, templateRefreshPackets } = this.settings;
		return (
			this.#packetsSinceTemplates >= templateRefreshPackets ||
			performance.now() - this.#templatesAt >= templateRefresh
		);
	}

	#sendNext(socket: Datagrams): void {
		const outgoing = this.outbox.next();
		if (outgoing === undefined) {
			this.#sending = false;
			return;
		}
		const { message } = outgoing;
		if (sizeOf(message) > this.#messageSize) {
			// Kept from a time when the path took more.
			this.giveUpOldest('too_large');
			this.#sendNext(socket);
			return;
		}
		const header = this.stamp(message);
		if (header === undefined) return;
		this.#send(
			socket,
			[header, message.body],
			(error) => this.#failed(socket, error),
			() => {
				socket.remember(headOf(header, message.body), message);
				this.#packetsSinceTemplates += 1;
				this.settleOldest();
				this.#sending = false;
				this.pump();
			},
			outgoing,
		);
	}

	#send(
		socket: Datagrams,
		parts: Buffer[],
		failed: (error: Error) => void,
		sent: () => void,
		outgoing?: Outgoing,
	): void {
		this.#handed = outgoing;
		socket.send(parts, (error, octets) => {
			if (this.#socket !== socket && this.#trying !== socket) return;
			// It left, or it did not.
			this.#handed = undefined;
			if (error === null) {
				this.sentBytes += octets;
				sent();
				return;
			}
			const code = codeOf(error);
			if (code === 'ENOBUFS' || code === 'EAGAIN') {
				this.#timer = setTimeout(() => this.#send(socket, parts, failed, sent, outgoing), NO_BUFFER_DELAY_MS);
				return;
			}
			failed(error);
		});
	}

	/** Counts what is known to be lost. */
	#hear(socket: Datagrams, error: Error): void {
		const refused = codeOf(error) === 'ECONNREFUSED';
		if (refused) this.#refusing.add(socket.address.address);
		this.countMissed('udp_refused', socket.lost(refused));
	}

	#failed(socket: Datagrams, error: Error): void {
		if (this.#socket !== socket) return;
		this.#hear(socket, error);
		const size = codeOf(error) === 'EMSGSIZE' ? this.#sizeOn(socket) : this.#messageSize;
		if (size < this.#messageSize && this.isOpen) {
			this.startOver();
			if (this.#socket === socket) this.#reopen([socket.address]);
			return;
		}
		this.broke(wordsOf(error));
	}

	/** Moves the session where the path takes messages of another size, or the name has other addresses. */
	#refresh(socket: Datagrams): void {
		const now = performance.now();
		const size = this.#sizeOn(socket);
		if (size < this.#messageSize || (size > this.#messageSize && now - this.#openedAt >= SOONEST_LOOKUP_MS)) {
			void this.#move(socket, [socket.address]);
			return;
		}
		const { host } = this.#target;
		if (isIP(host) !== 0 || now - this.#lookedUpAt < SOONEST_LOOKUP_MS) return;
		this.#lookedUpAt = now;
		resolve(host, this.settings.connectTimeout, this.#life.signal).then(
			(addresses) => {
				if (addresses.some(({ address }) => address === socket.address.address)) return;
				void this.#move(socket, addresses);
			},
			// A name server that does not answer says nothing of the address.
			() => undefined,
		);
	}

	/** Once everything is sent. Where that takes too long, the next refresh tries again. */
	async #move(socket: Datagrams, addresses: readonly Address[]): Promise<void> {
		if (this.#socket !== socket || !(await this.quiesce())) return;
		if (this.#socket === socket && this.isOpen) this.#reopen(addresses);
	}

	/** Goes on over another socket, as a new session to the collector. */
	#reopen(addresses: readonly Address[]): void {
		this.disconnect();
		this.#begin(addresses);
	}

	protected disconnect(): void {
		this.#life.abort();
		clearTimeout(this.#timer);
		clearInterval(this.#refreshTimer);
		this.#close(this.#trying);
		this.#close(this.#socket);
		this.#trying = undefined;
		this.#socket = undefined;
		this.#sending = false;
		// It may leave after all, and is sent again.
		if (this.#handed !== undefined) this.#handed.mayHaveArrived = true;
		this.#handed = undefined;
	}

	#close(socket: Datagrams | undefined): void {
		socket?.close(() => this.host.removeOwn(socket.own));
	}

	protected async finish(): Promise<void> {
		// A datagram that the kernel took needs nothing more.
	}
}

function wordsOf(error: Error): string {
	switch (codeOf(error)) {
		case 'ECONNREFUSED':
			return 'datagram refused: nothing listens on the port';
		case 'EMSGSIZE':
			return 'a datagram was larger than the path takes';
		default:
			return explain(error);
	}
}
