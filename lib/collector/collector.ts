/**
 * The embedded collector: IPFIX in over TCP, TLS, UDP or from files, records out.
 *
 * Octets enter in the listeners, are decoded and counted in `Intake`, and wait as JSON text in a `Queue` bounded in octets: when
 * it is full, streams and files are no longer read, and datagrams are dropped and counted. They leave as arrays of records by
 * iterating, or as text by `chunks()`.
 */
import { EventEmitter } from 'node:events';
import { AgentError, messageOf, toError } from '../errors.ts';
import { tell } from '../exporter/events.ts';
import type { FlowRecord } from '../types.ts';
import { Intake } from './intake.ts';
import { Ledger } from './ledger.ts';
import { Queue } from './queue.ts';
import { Receiving } from './receiving.ts';
import { type ReceivingSettings, receivingSettings } from './settings.ts';
import type { Chunk, CollectorEvents, CollectorOptions, CollectorState, CollectorStats } from './types.ts';

export type * from './types.ts';

/** Receives IPFIX. One reader at a time iterates over it. */
export class Collector extends EventEmitter<CollectorEvents> implements AsyncIterable<FlowRecord[]> {
	readonly #settings: ReceivingSettings;
	readonly #ledger = new Ledger((warning) => tell(this, 'warning', warning));
	readonly #queue: Queue;
	#state: CollectorState = 'new';
	#receiving: Receiving | undefined;
	#starting: Promise<void> | undefined;
	/** The start that was asked for last, unless a stop has called it off. */
	#attempt: object | undefined;
	#stopping: Promise<void> | undefined;
	/** Of a start that failed, or a file that could not be read in full: the iteration ends with it. */
	#failure: Error | undefined;
	#reading = false;
	readonly #abort = () => void this.stop();

	/** Throws `OptionError` for the first option that cannot be used. */
	constructor(options: CollectorOptions) {
		super();
		this.#settings = receivingSettings(options);
		this.#queue = new Queue(this.#settings.maxQueuedBytes);
		this.#queue.onFull = (full) => this.#receiving?.hold(full);
	}

	/** Bound addresses as URLs, with the real port. */
	get addresses(): string[] {
		return this.#receiving?.addresses ?? [];
	}

	/** A snapshot; counters count from the construction, over all starts. */
	stats(): CollectorStats {
		const gauges = this.#receiving?.intake.gauges ?? { sessions: 0, handshakes: 0, templateBytes: 0 };
		return { state: this.#state, ...gauges, queuedBytes: this.#queue.bytes, ...this.#ledger.counters };
	}

	/**
	 * Resolves when every address is bound. Rejects, with none bound, with the system's code when an address cannot be bound or a
	 * file cannot be read, with ERR_TLS when certificates cannot be used, with ERR_STOPPED when it was stopped meanwhile. Called
	 * again while it runs, it gives the same promise; after `stop()` it starts anew.
	 */
	start(): Promise<void> {
		const { signal } = this.#settings;
		if (this.#starting !== undefined) return this.#starting;
		if (signal?.aborted === true) return Promise.reject(signal.reason);
		const attempt = {};
		this.#attempt = attempt;
		this.#starting = this.#start(attempt);
		return this.#starting;
	}

	/** Closes listeners and sessions. What was decoded can still be read; then the iteration ends. Never rejects. */
	stop(): Promise<void> {
		this.#starting = undefined;
		this.#attempt = undefined;
		if (this.#stopping !== undefined) return this.#stopping;
		if (this.#state === 'new' || this.#state === 'stopped') return Promise.resolve();
		this.#stopping = this.#stop().finally(() => {
			this.#stopping = undefined;
		});
		return this.#stopping;
	}

	/** `stop()`, for `await using`. */
	[Symbol.asyncDispose](): Promise<void> {
		return this.stop();
	}

	/**
	 * Reads certificates anew: connections that are made from now on use them. Where they cannot be used, the former ones stay
	 * and a warning ERR_TLS says why. Never rejects.
	 */
	async renewCertificates(): Promise<void> {
		try {
			await this.#receiving?.renewCertificates();
		} catch (error) {
			this.#ledger.note('ERR_TLS', 1, messageOf(error));
		}
	}

	/**
	 * Records as they arrive, at least one at a time. Starts the collector if need be. After the last of the files, where nothing
	 * is listened on, it throws the first error among them: with the system's code, or ERR_MALFORMED.
	 */
	async *[Symbol.asyncIterator](): AsyncGenerator<FlowRecord[], void, void> {
		for await (const { json } of this.chunks()) yield parseLines(json);
	}

	/** The same as JSON text, without an object per record. */
	async *chunks(): AsyncGenerator<Chunk, void, void> {
		if (this.#reading) throw new AgentError('ERR_USAGE', 'the collector is being iterated already');
		this.#reading = true;
		try {
			if (this.#state === 'new') await this.start();
			else await this.#starting;
			for (;;) {
				const chunk = await this.#queue.take();
				if (chunk === undefined) break;
				yield chunk;
			}
			if (this.#failure !== undefined) throw this.#failure;
		} finally {
			this.#reading = false;
		}
	}

	async #start(attempt: object): Promise<void> {
		if (this.#stopping !== undefined) {
			await this.#stopping;
			if (this.#attempt !== attempt) throw new AgentError('ERR_STOPPED', 'stopped before it had started');
		}
		const { signal, listen } = this.#settings;
		this.#state = 'starting';
		this.#failure = undefined;
		this.#queue.open();
		const receiving = new Receiving(new Intake(this.#settings, this.#queue, this.#ledger, this));
		this.#receiving = receiving;
		signal?.addEventListener('abort', this.#abort);
		try {
			await receiving.start();
		} catch (error) {
			await receiving.close();
			// Unless a stop is under way, or over.
			if (this.#receiving === receiving && this.#state === 'starting') {
				this.#starting = undefined;
				this.#failure = toError(error);
				this.#end();
			}
			throw error;
		}
		this.#state = 'running';
		receiving.readFiles().then((failure) => {
			if (listen.length > 0 || this.#receiving !== receiving || this.#state !== 'running') return;
			this.#failure = failure;
			this.#queue.end();
		});
	}

	async #stop(): Promise<void> {
		this.#state = 'stopping';
		await this.#receiving?.close();
		this.#end();
	}

	#end(): void {
		this.#settings.signal?.removeEventListener('abort', this.#abort);
		this.#state = 'stopped';
		this.#ledger.flush();
		this.#queue.end();
	}
}

/** Parses JSON lines that end in a line feed. */
export function parseLines<T = FlowRecord>(json: Buffer): T[] {
	const lines = json.toString('utf8').split('\n');
	lines.pop();
	return lines.map((line) => JSON.parse(line) as T);
}
