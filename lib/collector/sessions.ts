/**
 * Which sessions a collector keeps when strangers decide how many come: places in the order of their last message, and the
 * memory that templates of all sessions share. Neither knows sockets or a clock.
 */

/** What is known of a session for deciding. */
export interface Placed {
	/** When its last message was complete, or when it came; milliseconds of a clock that never steps. */
	lastMessage: number;
	/** Whether it has delivered a message. */
	heard: boolean;
}

/** Sessions of one kind, at most `limit`. */
export class Places<Session extends Placed> {
	readonly #limit: number;
	readonly #spared: number;
	/** In the order in which they came. */
	readonly #silent = new Set<Session>();
	/** In the order of their last message. */
	readonly #heard = new Set<Session>();

	/** `spared`: one that delivered a message less than so many milliseconds ago does not give way. */
	constructor(limit: number, spared: number) {
		this.#limit = limit;
		this.#spared = spared;
	}

	get size(): number {
		return this.#silent.size + this.#heard.size;
	}

	/** Null: there is room. Otherwise who has to go first, or undefined where nobody has. */
	inTheWay(now: number): Session | null | undefined {
		if (this.size < this.#limit) return null;
		const [silent] = this.#silent;
		if (silent !== undefined) return silent;
		const [quietest] = this.#heard;
		return quietest !== undefined && now - quietest.lastMessage >= this.#spared ? quietest : undefined;
	}

	add(session: Session): void {
		this.#silent.add(session);
	}

	/** It has delivered a message. */
	heard(session: Session, now: number): void {
		if (!this.delete(session)) return;
		session.lastMessage = now;
		session.heard = true;
		this.#heard.add(session);
	}

	/** False: it was not there. */
	delete(session: Session): boolean {
		return this.#silent.delete(session) || this.#heard.delete(session);
	}

	/** Those without a message for so long. */
	quietFor(milliseconds: number, now: number): Session[] {
		const quiet: Session[] = [];
		for (const order of [this.#silent, this.#heard]) {
			for (const session of order) {
				if (now - session.lastMessage < milliseconds) break;
				quiet.push(session);
			}
		}
		return quiet;
	}

	/** Nobody could deliver anything until now. */
	excuse(now: number): void {
		for (const session of this) session.lastMessage = now;
	}

	*[Symbol.iterator](): Generator<Session, void, void> {
		yield* this.#silent;
		yield* this.#heard;
	}
}

/** Octets of templates, summed over sessions that know their own. */
export class TemplateMemory<Session> {
	readonly #limit: number;
	/** In the order of use. */
	readonly #bytes = new Map<Session, number>();
	#total = 0;

	constructor(limit: number) {
		this.#limit = limit;
	}

	get total(): number {
		return this.#total;
	}

	/** A session was used and has so much now. Gives those that have to lose theirs, the longest unused first. */
	use(session: Session, bytes: number): Session[] {
		this.forget(session);
		if (bytes > 0) {
			this.#bytes.set(session, bytes);
			this.#total += bytes;
		}
		const losers: Session[] = [];
		for (const [other] of this.#bytes) {
			if (this.#total <= this.#limit) break;
			this.forget(other);
			losers.push(other);
		}
		return losers;
	}

	forget(session: Session): void {
		this.#total -= this.#bytes.get(session) ?? 0;
		this.#bytes.delete(session);
	}
}
