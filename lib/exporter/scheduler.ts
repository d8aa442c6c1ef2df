/**
 * When polls start. A poll never overlaps another; after a failure the interval doubles up to a minute, with
 * jitter; and polls never take more than their share of the time. `poll` begins one, `finished` says how it ended.
 */
export interface PollSchedulerOptions {
	/** Milliseconds from one start to the next. */
	interval: number;
	/** What failures double, in milliseconds. Default: `interval`. */
	retryInterval?: number;
	/** Greatest part of the time that polls may take, above 0, at most 1. */
	maxPollShare: number;
	/** Begins a poll; must not throw. Its end is told by `finished`. */
	poll(): void;
	/** Called once, when polls first take more than their share. */
	stretched?(durationMs: number, intervalMs: number): void;
	/** Between 0 and 1. Default: `Math.random`. */
	random?: () => number;
}

const LONGEST_BACKOFF_MS = 60_000;

export class PollScheduler {
	readonly #options: Required<Omit<PollSchedulerOptions, 'stretched'>> &
		Pick<PollSchedulerOptions, 'stretched'>;
	#timer: NodeJS.Timeout | undefined;
	#running = false;
	#polling = false;
	#startedAt = 0;
	#failures = 0;
	#effective: number;
	#told = false;
	#whenIdle: Array<() => void> = [];

	constructor(options: PollSchedulerOptions) {
		this.#options = { random: Math.random, retryInterval: options.interval, ...options };
		this.#effective = options.interval;
	}

	/** Milliseconds between the last two starts as planned. */
	get effectiveInterval(): number {
		return this.#effective;
	}

	/** The first poll begins at once. */
	start(): void {
		if (this.#running) return;
		this.#running = true;
		this.#begin();
	}

	/** No further poll begins; one under way goes on. */
	stop(): void {
		this.#running = false;
		clearTimeout(this.#timer);
	}

	/** Resolves when no poll is under way. */
	async idle(): Promise<void> {
		if (this.#polling) await new Promise<void>((resolve) => this.#whenIdle.push(resolve));
	}

	/** One poll out of turn, after the one under way; resolves at its end. Only after `stop`. */
	async last(): Promise<void> {
		await this.idle();
		this.#begin();
		await this.idle();
	}

	/** The poll under way has ended. */
	finished(ok: boolean, durationMs: number): void {
		if (!this.#polling) return;
		this.#polling = false;
		for (const resolve of this.#whenIdle.splice(0)) resolve();
		if (!this.#running) return;
		this.#failures = ok ? 0 : this.#failures + 1;
		const wait = this.#wait(durationMs);
		this.#effective = Math.round(performance.now() - this.#startedAt + wait);
		this.#timer = setTimeout(() => this.#begin(), wait);
	}

	#begin(): void {
		if (this.#polling) return;
		this.#polling = true;
		this.#startedAt = performance.now();
		this.#options.poll();
	}

	/** Milliseconds from the end of a poll of `durationMs` to the start of the next. */
	#wait(durationMs: number): number {
		const { interval, retryInterval, maxPollShare, random, stretched } = this.#options;
		if (this.#failures > 0) {
			// The first failure doubles the interval, the next one doubles it again.
			const longest = Math.max(retryInterval, LONGEST_BACKOFF_MS);
			const ceiling = Math.min(longest, retryInterval * 2 ** Math.min(this.#failures, 20));
			return ceiling * (0.75 + 0.25 * random());
		}
		const rest = interval - durationMs;
		// A share of s means d / (d + wait) ≤ s.
		const pause = durationMs * (1 / maxPollShare - 1);
		if (pause <= rest) return Math.max(0, rest);
		if (!this.#told) {
			this.#told = true;
			stretched?.(durationMs, durationMs + pause);
		}
		return pause;
	}
}
