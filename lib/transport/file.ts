/**
 * IPFIX files (RFC 5655): whole messages one after the other, templates first.
 *
 * A message is settled when it is safe: forced to the disk, in a file that still stands where it was begun. A disk that
 * does not answer, or a folder that is taken away, fails what is not safe; it is sent again, here or elsewhere.
 *
 * A file under way is named `PATH.part` and locked. When it is complete it gets its name: PATH, or, where files are
 * rotated or PATH is taken, PATH with the time of its end before the extension. No file is ever written over; a `.part`
 * that a killed agent left is named the same way before the new one begins, or removed when it is empty.
 */
import { messageOf } from '../errors.ts';
import { within } from '../exporter/time_limit.ts';
import type { FileTarget } from '../options/target.ts';
import { PartFile } from './part_file.ts';
import { Session } from './session.ts';

const WRITE_OCTETS = 1024 * 1024;
const MESSAGE_OCTETS = 65_535;
/** A disk that has not answered for this long is as good as away. */
const LONGEST_ANSWER_MS = 10_000;
/** The same at a stop, which must leave time for others. */
const LAST_ANSWER_MS = 1_000;
/** Files of earlier connections on which the disk has not answered yet: with so many no further one is begun. */
const MOST_LEFT = 2;

export class FileSession extends Session {
	/** How long one answer of the disk is waited for, in milliseconds. */
	protected patience = LONGEST_ANSWER_MS;
	#attempt = 0;
	#file: PartFile | undefined;
	/** Complete, named, and not yet safe. */
	#before: PartFile | undefined;
	/** What is asked of the disk for the file under way: a write, or a turn to the next file. */
	#busy = false;
	#flushing: Promise<void> | undefined;
	/** Answers that are waited for, each with its time limit. */
	readonly #limits = new Set<NodeJS.Timeout>();
	/** Nothing is left for later: each write is flushed at once. */
	#hurried = false;
	#openedAt = 0;
	#flushTimer: NodeJS.Timeout | undefined;
	/** Files that a break has left behind, until the disk answers. */
	readonly #left = new Set<Promise<void>>();
	/** The file that is being begun: if it is not wanted any more, it holds the path until it is left. */
	#beginning: Promise<unknown> = Promise.resolve();

	protected connect(): void {
		this.#attempt += 1;
		const attempt = this.#attempt;
		this.#open(attempt).catch((error: unknown) => {
			if (attempt === this.#attempt) this.broke(messageOf(error));
		});
	}

	override hurry(): void {
		super.hurry();
		this.#hurried = true;
		// Where the disk hangs, others still have time to take what is not safe.
		this.patience = Math.min(this.patience, LAST_ANSWER_MS);
		const attempt = this.#attempt;
		this.#within('fsync', this.#flush()).catch((error: unknown) => {
			if (attempt === this.#attempt) this.broke(messageOf(error));
		});
	}

	override drain(): Promise<void> {
		const drained = super.drain();
		this.hurry();
		return drained;
	}

	get #path(): string {
		return (this.settings.target as FileTarget).path;
	}

	async #open(attempt: number): Promise<void> {
		await this.#beginning;
		while (this.#left.size >= MOST_LEFT) await Promise.race(this.#left);
		if (attempt !== this.#attempt) return;
		const file = await this.#next(() => attempt === this.#attempt);
		if (file === undefined) return;
		this.#flushTimer = setInterval(() => this.#tick(), this.settings.flushInterval).unref();
		this.#serve(file);
	}

	/** Begins a file. Undefined: it was not wanted any more when the disk had answered. */
	#next(isWanted: () => boolean): Promise<PartFile | undefined> {
		const next = PartFile.begin(this.#path).then(async (file) => {
			if (isWanted()) return file;
			await file.leave();
			return undefined;
		});
		this.#beginning = next.catch(() => undefined);
		return next;
	}

	#serve(file: PartFile): void {
		this.#file = file;
		this.#busy = false;
		this.#openedAt = performance.now();
		this.opened(this.settings.maxMessageSize ?? MESSAGE_OCTETS);
	}

	#tick(): void {
		if (this.#rotationIsDue()) this.pump();
		void this.#flush();
	}

	protected pump(): void {
		const file = this.#file;
		if (file === undefined || this.#busy || !(this.isOpen || this.state === 'draining')) return;
		if (this.#rotationIsDue()) {
			this.#turn(file);
			return;
		}
		const chunks = this.wire.control.splice(0);
		let octets = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
		let messages = 0;
		while (octets < WRITE_OCTETS) {
			const outgoing = this.outbox.next();
			if (outgoing === undefined) break;
			const header = this.stamp(outgoing.message);
			if (header === undefined) return;
			chunks.push(header, outgoing.message.body);
			octets += header.length + outgoing.message.body.length;
			outgoing.mayHaveArrived = true;
			messages += 1;
		}
		if (octets === 0) return;
		this.#busy = true;
		this.#within('write', file.write(Buffer.concat(chunks, octets), messages)).then(
			() => {
				if (this.#file !== file) return;
				this.#busy = false;
				this.sentBytes += octets;
				// So much waits that the window would be full before the next flush.
				if (this.#hurried || this.outbox.octets >= this.host.window / 2) void this.#flush();
				this.pump();
			},
			async (error: unknown) => {
				if (this.#file !== file) return;
				// This write was cut off; what was written before it need not be sent again.
				const { unsettled } = this.outbox;
				for (const outgoing of unsettled.slice(unsettled.length - messages)) outgoing.mayHaveArrived = false;
				await this.#flush();
				if (file.isDirty) await this.#flush();
				if (this.#file === file) this.broke(messageOf(error));
			},
		);
	}

	/**
	 * Forces to the disk what has been written, and settles it: first the file before, then the one under way. One flush
	 * at a time; whoever asks meanwhile gets the promise of the one under way. Never rejects.
	 */
	#flush(): Promise<void> {
		if (this.#flushing !== undefined) return this.#flushing;
		const flushing = this.#flushAll().finally(() => {
			if (this.#flushing !== flushing) return;
			this.#flushing = undefined;
			// What has come meanwhile.
			if (this.#hurried && this.#file?.isDirty === true) void this.#flush();
		});
		this.#flushing = flushing;
		return flushing;
	}

	async #flushAll(): Promise<void> {
		const attempt = this.#attempt;
		try {
			const before = this.#before;
			if (before !== undefined) {
				const safe = await this.#within('fsync', before.close());
				if (attempt !== this.#attempt) return;
				this.#before = undefined;
				this.#settle(safe);
			}
			const file = this.#file;
			if (file === undefined) return;
			const safe = await this.#within('fsync', file.flush());
			// It may have become the one before.
			if (attempt === this.#attempt) this.#settle(safe);
		} catch (error) {
			if (attempt !== this.#attempt) return;
			if (this.#file?.isGone === true)
				for (const outgoing of this.outbox.unsettled) outgoing.mayHaveArrived = false;
			this.broke(messageOf(error));
		}
	}

	#settle(messages: number): void {
		for (let left = messages; left > 0; left -= 1) this.settleOldest();
	}

	#rotationIsDue(): boolean {
		const { rotate } = this.settings;
		const file = this.#file;
		if (rotate === undefined || file === undefined || this.#before !== undefined || !this.isOpen)
			return false;
		const old = rotate.interval !== undefined && performance.now() - this.#openedAt >= rotate.interval;
		return old || (rotate.size !== undefined && file.size >= rotate.size);
	}

	/** The file under way gets its name and the next one begins; the old one is flushed beside it. */
	#turn(file: PartFile): void {
		this.#busy = true;
		this.#within(
			'rename',
			file.name(true).then(() => this.#next(() => this.#file === file)),
		).then(
			(next) => {
				if (next === undefined) return;
				if (this.#file !== file) {
					void next.leave();
					return;
				}
				this.#before = file;
				this.#serve(next);
				void this.#flush();
			},
			(error: unknown) => {
				if (this.#file === file) this.broke(messageOf(error));
			},
		);
	}

	/** Rejects when the disk does not answer in time. */
	#within<T>(what: string, answer: Promise<T>): Promise<T> {
		return new Promise((resolve, reject) => {
			const timer = setTimeout(
				() => reject(new Error(`${what}: the disk has not answered for ${this.patience} ms`)),
				this.patience,
			);
			this.#limits.add(timer);
			answer.then(resolve, reject).finally(() => {
				clearTimeout(timer);
				this.#limits.delete(timer);
			});
		});
	}

	protected disconnect(): void {
		this.#attempt += 1;
		clearInterval(this.#flushTimer);
		for (const timer of this.#limits) clearTimeout(timer);
		this.#limits.clear();
		for (const file of [this.#before, this.#file]) {
			if (file === undefined) continue;
			const left = file.leave();
			this.#left.add(left);
			left.finally(() => this.#left.delete(left));
		}
		this.#before = undefined;
		this.#file = undefined;
		this.#busy = false;
		this.#flushing = undefined;
	}

	/** Whoever comes next finds the path free, unless the disk does not answer. */
	protected override async gone(): Promise<void> {
		await within(LAST_ANSWER_MS, Promise.all([this.#beginning, ...this.#left]));
	}

	/** After all was settled, and so flushed. */
	protected async finish(): Promise<void> {
		const file = this.#file;
		if (file === undefined) return;
		await this.#flush();
		if (this.#file !== file) return;
		await this.#within('rename', file.name(this.settings.rotate !== undefined));
		if (this.#file !== file) return;
		await this.#within('fsync', file.close());
		if (this.#file === file) this.disconnect();
	}
}
