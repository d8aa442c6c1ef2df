/** Decoded text that waits for its reader, bounded in octets. */
import type { Chunk } from './types.ts';

const COMPACT = 4_096;

export class Queue {
	readonly #limit: number;
	/** Those before the head are taken: taking the first of many off an array moves all the others. */
	#chunks: Array<Chunk | undefined> = [];
	#head = 0;
	#bytes = 0;
	#full = false;
	#ended = false;
	#wake: (() => void) | undefined;
	/** Called when the queue has become full, and when half of it is gone again. */
	onFull: (full: boolean) => void = () => undefined;

	constructor(limit: number) {
		this.#limit = limit;
	}

	get bytes(): number {
		return this.#bytes;
	}

	/** Whoever still puts something in will be heard, but should hold what comes after it back. */
	get full(): boolean {
		return this.#full;
	}

	put(chunk: Chunk): void {
		this.#bytes += chunk.json.length;
		this.#chunks.push(chunk);
		if (!this.#full && this.#bytes >= this.#limit) {
			this.#full = true;
			this.onFull(true);
		}
		this.#wakeReader();
	}

	/** Nothing more will come, until it is opened again. */
	end(): void {
		this.#ended = true;
		this.#wakeReader();
	}

	open(): void {
		this.#ended = false;
	}

	/** The next chunk; undefined after the last. For one reader at a time. */
	async take(): Promise<Chunk | undefined> {
		for (;;) {
			const chunk = this.#first();
			if (chunk !== undefined) {
				this.#bytes -= chunk.json.length;
				if (this.#full && this.#bytes <= this.#limit / 2) {
					this.#full = false;
					this.onFull(false);
				}
				return chunk;
			}
			if (this.#ended) return undefined;
			await new Promise<void>((resolve) => {
				this.#wake = resolve;
			});
		}
	}

	#first(): Chunk | undefined {
		const chunk = this.#chunks[this.#head];
		if (chunk === undefined) return undefined;
		this.#chunks[this.#head] = undefined;
		this.#head += 1;
		if (this.#head === this.#chunks.length || this.#head >= COMPACT) {
			this.#chunks = this.#chunks.slice(this.#head);
			this.#head = 0;
		}
		return chunk;
	}

	#wakeReader(): void {
		this.#wake?.();
		this.#wake = undefined;
	}
}
