/**
 * IPFIX over UDP (RFC 7011 section 10.3): one connected socket, datagrams no larger than the path takes.
 *
 * A message is settled when the kernel took it; nobody acknowledges a datagram. ECONNREFUSED is the one thing heard
 * of a collector: reported at a send, that datagram did not leave and an earlier one was refused. The earlier one's
 * records are lost and counted; the session ends, and its next socket is a new session with templates first, which
 * takes records only after a quiet time without refusals.
 */
import { createSocket, type Socket } from 'node:dgram';
import { native, type OwnSession } from '../core/native.ts';
import { codeOf, messageOf } from '../errors.ts';
import type { NetworkTarget } from '../options/target.ts';
import { datagramDescriptorOf } from './descriptor.ts';
import { add, nothing, type Outgoing } from './parcel.ts';
import { explain, TO_ITSELF } from './reasons.ts';
import { resolve } from './resolve.ts';
import { Session } from './session.ts';

const UDP = 17;
/** IP and UDP headers. */
const HEADERS = { 4: 28, 6: 48 } as const;
/** No packet larger than this by default, whatever the path's first hop takes. */
const ETHERNET_MTU = 1_500;
/** RFC 7011 section 10.3.3: at most this when the path MTU is unknown. */
const UNKNOWN_PATH_OCTETS = 512;
/** Time for a refusal of the first templates to come back; longer after one came. */
const QUIET_MS = 100;
const QUIET_AFTER_REFUSAL_MS = 1_000;
const NO_BUFFER_DELAY_MS = 10;
const LENGTH_OFFSET = 2;

export class UdpSession extends Session {
	#socket: Socket | undefined;
	#own: OwnSession | undefined;
	#sending = false;
	#timer: NodeJS.Timeout | undefined;
	#packetsSinceTemplates = 0;
	#templatesAt = 0;
	/** The last data datagram that the kernel took: the one a refusal is about. */
	#last: Outgoing | undefined;
	#refused = false;
	/** The data datagram that the kernel was given and has not said whether it took. */
	#handed: Outgoing | undefined;
	#abort: AbortController | undefined;
	#failures = 0;

	protected connect(): void {
		this.#abort = new AbortController();
		const { signal } = this.#abort;
		this.#open(signal).catch((error: unknown) => {
			if (!signal.aborted) this.broke(messageOf(error));
		});
	}

	async #open(signal: AbortSignal): Promise<void> {
		const { host, port } = this.settings.target as NetworkTarget;
		const addresses = await resolve(host, this.settings.connectTimeout, signal);
		// Which address answers shows only by refusals: each of them moves on to the next.
		const target = addresses[this.#failures % addresses.length];
		if (signal.aborted) return;
		if (target === undefined) throw new Error(`no address for the name ${host}`);
		const { address, family } = target;
		const socket = createSocket(family === 4 ? 'udp4' : 'udp6');
		this.#socket = socket;
		socket.on('error', (error) => this.#failed(socket, error, undefined));
		socket.connect(port, address, (error?: Error) => {
			if (this.#socket !== socket) return;
			if (error !== undefined) {
				this.#failed(socket, error, undefined);
				return;
			}
			try {
				const local = socket.address();
				if (local.port === port && local.address === address) throw new Error(TO_ITSELF);
				const own = {
					protocol: UDP,
					localAddress: local.address,
					localPort: local.port,
					remoteAddress: address,
					remotePort: port,
				};
				this.host.addOwn(own);
				this.#own = own;
				this.wire.open(this.#datagramSize(socket, family));
			} catch (error) {
				this.broke(messageOf(error));
				return;
			}
			this.#sending = false;
			this.#last = undefined;
			this.#sendControl(socket, () => {
				this.#timer = setTimeout(
					() => {
						if (this.#socket !== socket) return;
						this.#refused = false;
						// Sends the templates again: a refusal still under way shows at this send.
						this.withCore(() => this.opened(undefined));
					},
					this.#refused ? QUIET_AFTER_REFUSAL_MS : QUIET_MS,
				);
			});
		});
	}

	/** Octets of a message on this path, header included. */
	#datagramSize(socket: Socket, family: 4 | 6): number {
		const most = this.settings.maxMessageSize ?? ETHERNET_MTU - HEADERS[family];
		let pathMtu: number | null = null;
		const probe = new (native().NativeSocket)(datagramDescriptorOf(socket));
		try {
			pathMtu = probe.pathMtu();
		} catch {
			// Unknown.
		} finally {
			probe.close();
		}
		return Math.min(most, pathMtu === null ? UNKNOWN_PATH_OCTETS : pathMtu - HEADERS[family]);
	}

	/** Sends each message of the control buffers as a datagram of its own, then calls `done`. */
	#sendControl(socket: Socket, done: () => void): void {
		const [datagram] = this.wire.control;
		if (datagram === undefined) {
			done();
			return;
		}
		const length =
			datagram.length > LENGTH_OFFSET + 2 ? datagram.readUInt16BE(LENGTH_OFFSET) : datagram.length;
		const message = datagram.subarray(0, length);
		const rest = datagram.subarray(length);
		this.#send(socket, [message], undefined, () => {
			if (rest.length > 0 && length > 0) this.wire.control[0] = rest;
			else this.wire.control.shift();
			// A refusal that comes now is about this one, which holds no flows.
			this.#last = undefined;
			this.#packetsSinceTemplates = 0;
			this.#templatesAt = performance.now();
			this.#sendControl(socket, done);
		});
	}

	protected pump(): void {
		const socket = this.#socket;
		if (socket === undefined || this.#sending || !(this.isOpen || this.state === 'draining')) return;
		this.#sending = true;
		if (this.wire.control.length === 0 && this.#templatesAreOld()) {
			this.withCore(() => this.wire.queueTemplates());
			if (this.#socket !== socket) return;
		}
		this.#sendControl(socket, () => this.#sendNext(socket));
	}

	#templatesAreOld(): boolean {
		const { templateRefresh, templateRefreshPackets } = this.settings;
		return (
			this.#packetsSinceTemplates >= templateRefreshPackets ||
			performance.now() - this.#templatesAt >= templateRefresh
		);
	}

	#sendNext(socket: Socket): void {
		const outgoing = this.outbox.next();
		if (outgoing === undefined) {
			this.#sending = false;
			return;
		}
		const header = this.stamp(outgoing.message);
		if (header === undefined) return;
		this.#send(socket, [header, outgoing.message.body], outgoing, () => {
			this.#last = outgoing;
			this.#packetsSinceTemplates += 1;
			this.settleOldest();
			this.#sending = false;
			this.pump();
		});
	}

	#send(socket: Socket, parts: Buffer[], outgoing: Outgoing | undefined, sent: () => void): void {
		this.#handed = outgoing;
		socket.send(parts, (error, octets) => {
			if (this.#socket !== socket) return;
			this.#handed = undefined;
			if (error === null) {
				this.sentBytes += octets;
				sent();
				return;
			}
			const code = codeOf(error);
			if (code === 'ENOBUFS' || code === 'EAGAIN') {
				this.#timer = setTimeout(() => {
					if (this.#socket === socket) this.#send(socket, parts, outgoing, sent);
				}, NO_BUFFER_DELAY_MS);
				return;
			}
			this.#failed(socket, error, outgoing);
		});
	}

	#failed(socket: Socket, error: Error, unsent: Outgoing | undefined): void {
		if (this.#socket !== socket) return;
		this.#failures += 1;
		if (codeOf(error) === 'ECONNREFUSED') {
			this.#refused = true;
			if (this.#last !== undefined && this.#last !== unsent) {
				const lost = nothing();
				add(lost, this.#last.message);
				this.countMissed('udp_refused', lost);
			}
			this.#last = undefined;
			this.broke('datagram refused: nothing listens on the port');
			return;
		}
		this.broke(codeOf(error) === 'EMSGSIZE' ? 'a datagram was larger than the path takes' : explain(error));
	}

	protected disconnect(): void {
		this.#abort?.abort();
		clearTimeout(this.#timer);
		const socket = this.#socket;
		if (socket === undefined) return;
		this.#socket = undefined;
		this.#sending = false;
		// It may leave after all, and is sent again.
		if (this.#handed !== undefined) this.#handed.mayHaveArrived = true;
		this.#handed = undefined;
		const own = this.#own;
		this.#own = undefined;
		socket.removeAllListeners('error').on('error', () => undefined);
		socket.close(() => {
			if (own !== undefined) this.host.removeOwn(own);
		});
	}

	protected async finish(): Promise<void> {
		// A datagram that the kernel took needs nothing more.
	}
}
