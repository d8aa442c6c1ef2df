/**
 * A connected UDP socket to one collector, and what is heard of the datagrams sent on it.
 *
 * The core opens it and gives Node a duplicate of its descriptor (`bind({ fd })`), so that the kernel never cuts a
 * datagram into fragments and tells which ones were refused. Where the kernel cannot, neither is known.
 */
import { createSocket, type Socket } from 'node:dgram';
import { closeSync } from 'node:fs';
import { type NativeDatagramSocket, native, type OwnSession } from '../core/native.ts';
import { type Amount, add, nothing } from './parcel.ts';
import { TO_ITSELF } from './reasons.ts';
import type { Address } from './resolve.ts';

const UDP = 17;
/** IP and UDP headers. */
const HEADERS = { 4: 28, 6: 48 } as const;
/** Header and first set id of a message tell it from all others. */
const HEAD_OCTETS = 18;
const FIRST_DATA_SET = 256;
/** Of so many datagrams it is remembered what was in them. A refusal takes a round trip to come. */
const REMEMBERED = 1_024;

export class Datagrams {
	readonly address: Address;
	readonly own: OwnSession;
	readonly #socket: Socket;
	readonly #core: NativeDatagramSocket;
	/** What was in the last datagrams with records, by their heads. */
	readonly #sent = new Map<string, Amount>();

	private constructor(address: Address, port: number, socket: Socket, core: NativeDatagramSocket) {
		this.address = address;
		this.#socket = socket;
		this.#core = core;
		const local = socket.address();
		if (local.port === port && local.address === address.address) throw new Error(TO_ITSELF);
		this.own = {
			protocol: UDP,
			localAddress: local.address,
			localPort: local.port,
			remoteAddress: address.address,
			remotePort: port,
		};
	}

	/** Rejects, with nothing left behind, where no datagram could be sent, such as without a route. */
	static async connect(address: Address, port: number): Promise<Datagrams> {
		const core = new (native().NativeDatagramSocket)(address.family === 6);
		const socket = createSocket(address.family === 4 ? 'udp4' : 'udp6');
		try {
			const fd = core.descriptor();
			try {
				socket.bind({ fd, exclusive: true });
			} catch (error) {
				closeSync(fd);
				throw error;
			}
			await new Promise<void>((resolve, reject) => {
				socket.once('error', reject);
				socket.connect(port, address.address, (error?: Error) => {
					socket.off('error', reject);
					if (error === undefined) resolve();
					else reject(error);
				});
			});
			return new Datagrams(address, port, socket, core);
		} catch (error) {
			core.close();
			socket.close();
			throw error;
		}
	}

	/** Who hears, from now on, of errors that come at another time than with a send. */
	onError(heard: (error: Error) => void): void {
		this.#socket.removeAllListeners('error').on('error', heard);
	}

	/** `sent`: within a later turn, null when the kernel took it. */
	send(parts: Buffer[], sent: (error: Error | null, octets: number) => void): void {
		this.#socket.send(parts, sent);
	}

	/** The kernel took this datagram, which has these records. */
	remember(head: Buffer, amount: Amount): void {
		this.#sent.set(keyOf(head), amount);
		if (this.#sent.size <= REMEMBERED) return;
		for (const oldest of this.#sent.keys()) {
			this.#sent.delete(oldest);
			return;
		}
	}

	/**
	 * What was in the datagrams that are known to have been refused since the last call. `refused`: a send has just told
	 * of one; where the kernel does not say which, it was the last one with records.
	 */
	lost(refused: boolean): Amount {
		const sum = nothing();
		const heads = this.#core.refused();
		let told = false;
		for (const head of heads) {
			if (head.length < HEAD_OCTETS) continue;
			told = true;
			this.#forget(keyOf(head), sum);
		}
		if (refused && !told) {
			const last = [...this.#sent.keys()].at(-1);
			if (last !== undefined) this.#forget(last, sum);
		}
		return sum;
	}

	#forget(key: string, sum: Amount): void {
		const amount = this.#sent.get(key);
		if (amount === undefined) return;
		this.#sent.delete(key);
		add(sum, amount);
	}

	/** Octets of the largest message that gets to the end of the path, or null. */
	messageSize(): number | null {
		const mtu = this.#core.pathMtu();
		return mtu === null ? null : mtu - HEADERS[this.address.family];
	}

	close(closed: () => void): void {
		this.#core.close();
		this.#socket.removeAllListeners('error').on('error', () => undefined);
		this.#socket.close(closed);
	}
}

/** Empty for what has no records: templates have the sequence number of the data that follows them. */
function keyOf(head: Buffer): string {
	return head.readUInt16BE(HEAD_OCTETS - 2) < FIRST_DATA_SET ? '' : head.toString('latin1', 0, HEAD_OCTETS);
}

/** The first octets of a message that leaves in these two parts. */
export function headOf(header: Buffer, body: Buffer): Buffer {
	return Buffer.concat([header, body], HEAD_OCTETS);
}

/** Octets of the largest message in a packet of this size. */
export function messageIn(packet: number, { family }: Address): number {
	return packet - HEADERS[family];
}
