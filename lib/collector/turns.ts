/**
 * How long octets of streams are decoded before the event loop goes on: many senders that send as fast as they can would keep
 * it for seconds, in which no signal is heard and datagrams overflow. When a turn's time is up, a chunk waits, with its stream
 * held back, for a later turn; those that wait come in the order in which they came.
 */

const TURN_MS = 10;

/** What is held back: a socket. */
export interface Held {
	pause(): unknown;
	resume(): unknown;
}

interface Waiting {
	readonly chunks: Buffer[];
	readonly stream: Held;
}

export class Turns<Session> {
	readonly #decode: (session: Session, chunk: Buffer) => void;
	readonly #waiting = new Map<Session, Waiting>();
	/** When this turn's first chunk came; undefined: none has. */
	#since: number | undefined;
	#full = false;

	constructor(decode: (session: Session, chunk: Buffer) => void) {
		this.#decode = decode;
	}

	/** Decodes the chunk, now or later. */
	take(session: Session, chunk: Buffer, stream: Held): void {
		const late = this.#since !== undefined && performance.now() - this.#since >= TURN_MS;
		if (this.#since === undefined) this.#begin();
		if (late || this.#full || this.#waiting.size > 0) {
			const waiting = this.#waiting.get(session);
			if (waiting !== undefined) waiting.chunks.push(chunk);
			else this.#waiting.set(session, { chunks: [chunk], stream });
			stream.pause();
			return;
		}
		this.#decode(session, chunk);
	}

	/** Its stream is not to go on yet. */
	waits(session: Session): boolean {
		return this.#waiting.has(session);
	}

	/** The session ends: decodes what came before. */
	flush(session: Session): void {
		const waiting = this.#waiting.get(session);
		this.#waiting.delete(session);
		for (const chunk of waiting?.chunks ?? []) this.#decode(session, chunk);
	}

	/** Nothing that waits is decoded while the queue is full. */
	hold(full: boolean): void {
		this.#full = full;
		if (!full && this.#waiting.size > 0 && this.#since === undefined) this.#begin();
	}

	/** What waits is given up. */
	dispose(): void {
		this.#waiting.clear();
	}

	#begin(): void {
		this.#since = performance.now();
		setImmediate(() => this.#next());
	}

	#next(): void {
		const since = performance.now();
		for (const [session, { stream }] of this.#waiting) {
			if (this.#full) break;
			this.flush(session);
			if (!this.#full) stream.resume();
			if (performance.now() - since >= TURN_MS) break;
		}
		this.#since = undefined;
		if (!this.#full && this.#waiting.size > 0) this.#begin();
	}
}
