/** What the kernel knows of a TCP connection, asked through a copy of its descriptor: also when Node has lost its own. */
import type { Socket } from 'node:net';
import { type NativeProgress, type NativeSocket, native } from '../core/native.ts';
import { descriptorOf } from './descriptor.ts';

export class Probe {
	readonly #socket: NativeSocket;

	/** Throws when the socket is closed already. The copy holds back the end of the connection until `close`. */
	constructor(raw: Socket) {
		this.#socket = new (native().NativeSocket)(descriptorOf(raw));
	}

	/** Undefined when the kernel does not tell: nothing is settled then. */
	progress(): NativeProgress | undefined {
		try {
			return this.#socket.progress();
		} catch {
			return undefined;
		}
	}

	/** The connection's end will be a reset: what the kernel has queued does not leave after all. */
	resetOnClose(): void {
		try {
			this.#socket.resetOnClose();
		} catch {
			// It has ended already.
		}
	}

	close(): void {
		this.#socket.close();
	}
}
