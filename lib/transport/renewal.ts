/**
 * When a session moves to other certificates: soon after their files have changed, and at once when it is asked to.
 *
 * `read` says every few seconds what the files hold; `move` is tried when that is not what the open connection uses.
 * A collector that refuses the new ones is asked again more and more rarely, until the files change once more.
 */
import { messageOf } from '../errors.ts';
import { Backoff, type BackoffOptions } from './backoff.ts';

const CHECK_MS = 5_000;

export interface RenewalOptions {
	/** What the files hold now. Rejects when they cannot be used. */
	read(): Promise<{ readonly fingerprint: string }>;
	/** Moves the session. False: not now, it is to be tried again. Rejects when the collector does not take them. */
	move(): Promise<boolean>;
	/** Null: the session uses what the files hold, or will when it connects. Must not throw. */
	told(problem: string | null): void;
	/** How long a move that failed waits for its next try. */
	backoff: BackoffOptions;
}

export class Renewal {
	readonly #options: RenewalOptions;
	readonly #backoff: Backoff;
	/** Of the open connection. */
	#inUse: string | undefined;
	/** What was tried last and is not in use. */
	#tried: string | undefined;
	#problem: string | null = null;
	#checkTimer: NodeJS.Timeout | undefined;
	#retryTimer: NodeJS.Timeout | undefined;
	#looking = false;
	#asked = false;

	constructor(options: RenewalOptions) {
		this.#options = options;
		this.#backoff = new Backoff(options.backoff);
	}

	/** Looks at the files from now on. */
	watch(): void {
		this.#checkTimer ??= setInterval(() => this.#look(), CHECK_MS).unref();
	}

	unwatch(): void {
		clearInterval(this.#checkTimer);
		this.#checkTimer = undefined;
		this.#forget();
	}

	/** The session goes on over a connection that was made with these. */
	use(fingerprint: string): void {
		this.#inUse = fingerprint;
		this.#forget();
		this.#tell(null);
	}

	/** There is no connection; the next one is made with what it finds. */
	unuse(): void {
		this.#inUse = undefined;
		this.#forget();
	}

	/** Moves at once, changed or not; where a look is under way, after it. */
	now(): void {
		this.#asked = true;
		this.#look();
	}

	#look(): void {
		if (this.#looking) return;
		this.#looking = true;
		this.#compare()
			.catch((error: unknown) => this.#tell(messageOf(error)))
			.finally(() => {
				this.#looking = false;
				if (this.#asked) this.#look();
			});
	}

	async #compare(): Promise<void> {
		const asked = this.#asked;
		this.#asked = false;
		if (asked) this.#problem = null;
		else if (this.#inUse === undefined) return;
		let fingerprint: string;
		try {
			({ fingerprint } = await this.#options.read());
		} catch (error) {
			this.#forget();
			throw error;
		}
		if (!asked && fingerprint === this.#inUse) {
			this.#forget();
			this.#tell(null);
			return;
		}
		if (fingerprint !== this.#tried) {
			this.#forget();
			this.#problem = null;
		} else if (!asked && this.#retryTimer !== undefined) {
			return;
		}
		clearTimeout(this.#retryTimer);
		this.#retryTimer = undefined;
		this.#tried = fingerprint;
		let moved = false;
		try {
			moved = await this.#options.move();
		} finally {
			if (!moved) this.#retryLater();
		}
		if (moved) this.#tell(null);
	}

	#retryLater(): void {
		// Nobody watches, or the connection ended meanwhile: there is nothing to move.
		if (this.#checkTimer === undefined || this.#inUse === undefined) return;
		this.#retryTimer = setTimeout(() => {
			this.#retryTimer = undefined;
			this.#look();
		}, this.#backoff.next()).unref();
	}

	#forget(): void {
		clearTimeout(this.#retryTimer);
		this.#retryTimer = undefined;
		this.#tried = undefined;
		this.#backoff.reset();
	}

	/** A problem that stays is told once. */
	#tell(problem: string | null): void {
		if (problem !== null && problem === this.#problem) return;
		this.#problem = problem;
		this.#options.told(problem);
	}
}
