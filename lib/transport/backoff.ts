/** How long to wait before the next attempt: exponential, with jitter, between two bounds. */
export interface BackoffOptions {
	/** First delay and lower bound, in milliseconds. */
	initial: number;
	/** Upper bound, in milliseconds. */
	max: number;
	/** Between 0 and 1. Default: `Math.random`. */
	random?: () => number;
}

/**
 * The nth delay lies between half of and the whole of min(max, initial × 2^n), n from 1: agents that lost the
 * same collector at the same moment do not come back at the same moment.
 */
export class Backoff {
	readonly #initial: number;
	readonly #max: number;
	readonly #random: () => number;
	#failures = 0;

	constructor({ initial, max, random = Math.random }: BackoffOptions) {
		this.#initial = initial;
		this.#max = Math.max(initial, max);
		this.#random = random;
	}

	/** Failures since the last reset. */
	get failures(): number {
		return this.#failures;
	}

	/** Counts a failure and gives the delay after it, in milliseconds. */
	next(): number {
		// 2^31 is beyond every bound; the exponent must not overflow after weeks of failures.
		this.#failures += 1;
		const ceiling = Math.min(this.#max, this.#initial * 2 ** Math.min(this.#failures, 31));
		const floor = Math.min(this.#max, Math.max(this.#initial, ceiling / 2));
		return Math.round(floor + (ceiling - floor) * this.#random());
	}

	reset(): void {
		this.#failures = 0;
	}
}
