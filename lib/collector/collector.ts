/**
 * The embedded collector: IPFIX in over TCP, TLS, UDP or from files, records out.
 *
 * Octets enter in collector/listeners.ts, one `DecoderSession` for each transport session, because templates belong
 * to the session (RFC 7011 section 8). Decoded lines wait here, in a queue bounded in octets: when it is full,
 * streams and files are no longer read, and datagrams are dropped and counted. They leave as arrays of records by
 * iterating, or as JSON text by `chunks()`.
 */
import { EventEmitter } from 'node:events';
import { native } from '../core/native.ts';
import { AgentError, messageOf, OptionError } from '../errors.ts';
import { tell } from '../exporter/events.ts';
import type { FileTarget, NetworkTarget } from '../options/target.ts';
import { formatTarget, parseTarget, TARGET_SYNTAX } from '../options/target.ts';
import type { FlowRecord } from '../types.ts';
import { type DecodedSession, type Intake, openFile, openListener, type Source } from './listeners.ts';

export interface CollectorOptions {
	/** Addresses to listen on: `tcp://`, `tls://`, `udp://`; port 0 takes a free one. */
	listen?: readonly string[];
	/** IPFIX files to read, one after the other; the iteration ends after the last when nothing is listened on. */
	files?: readonly string[];
	/** Whether options records come out too. Default: false. */
	optionsRecords?: boolean;
	/** TLS: the collector's own certificate chain and key, and the authorities that exporters must come from. PEM files or text. */
	cert?: string;
	key?: string;
	ca?: string;
	/** Most transport sessions at a time. One more is refused over TCP; over UDP the quietest one is forgotten. Default: 256. */
	maxSessions?: number;
	/** Octets of decoded JSON text that may wait for the reader. Default: 16 MiB. */
	maxQueuedBytes?: number;
	/** Asked for each connection; false refuses it. */
	accept?: (peer: { address: string; port: number }) => boolean;
}

export interface CollectorEvents {
	connect: [{ peer: string; transport: string }];
	/** `error` is null when the session ended in order. */
	disconnect: [{ peer: string; transport: string; error: string | null }];
	/** A datagram or file could not be read in full; what is well-formed in it was. */
	malformed: [{ peer: string; error: string }];
}

export interface CollectorStats {
	sessions: number;
	records: number;
	queuedBytes: number;
	refusedSessions: number;
	malformed: number;
	/** Datagrams that came while the queue was full. */
	droppedDatagrams: number;
}

export interface Chunk {
	/** JSON lines. */
	json: Buffer;
	records: number;
}

const DEFAULT_SESSIONS = 256;
const DEFAULT_QUEUED = 16 * 1024 * 1024;

export class Collector extends EventEmitter<CollectorEvents> implements AsyncIterable<FlowRecord[]> {
	readonly #targets: NetworkTarget[];
	readonly #files: string[];
	readonly #options: CollectorOptions;
	readonly #maxQueued: number;
	readonly #sources: Source[] = [];
	readonly #queue: Chunk[] = [];
	readonly #stats = { sessions: 0, records: 0, refusedSessions: 0, malformed: 0, droppedDatagrams: 0 };
	#queuedBytes = 0;
	#full = false;
	#wakeReader: (() => void) | undefined;
	#starting: Promise<void> | undefined;
	#ended = false;
	#reading = false;

	/** Throws `OptionError`. */
	constructor(options: CollectorOptions) {
		super();
		this.#options = options;
		this.#maxQueued = options.maxQueuedBytes ?? DEFAULT_QUEUED;
		this.#files = [...(options.files ?? [])];
		this.#targets = (options.listen ?? []).map((text, index) => {
			const target = parseTarget(text, true);
			if (target === undefined || target.kind === 'file') {
				throw new OptionError(
					`listen[${index}]`,
					text,
					TARGET_SYNTAX.replace(' or file:PATH', '').replace(', udp', ' or udp'),
				);
			}
			if (target.kind === 'tls' && (options.cert === undefined || options.key === undefined)) {
				throw new OptionError(`listen[${index}]`, text, 'cert and key beside it');
			}
			return target;
		});
		if (this.#targets.length + this.#files.length === 0) {
			throw new OptionError('listen', options.listen, 'an address to listen on, or files to read');
		}
	}

	/** Bound addresses as URLs, with the real port. */
	get addresses(): string[] {
		return this.#sources.flatMap(({ address }) => (address === null ? [] : [formatTarget(address)]));
	}

	stats(): CollectorStats {
		return { ...this.#stats, queuedBytes: this.#queuedBytes };
	}

	/** Resolves when every address is bound; rejects, with none bound, when one cannot be. */
	start(): Promise<void> {
		this.#starting ??= this.#start();
		return this.#starting;
	}

	async #start(): Promise<void> {
		try {
			// Not at the first octet: a missing core is an error of the start.
			native();
			for (const target of this.#targets) {
				this.#sources.push(await openListener(target, this.#options, this.#intake));
			}
		} catch (error) {
			await this.stop();
			throw error;
		}
		void this.#readFiles();
	}

	async #readFiles(): Promise<void> {
		for (const path of this.#files) {
			if (this.#ended) return;
			const target: FileTarget = { kind: 'file', path };
			try {
				const source = openFile(target, this.#options, this.#intake);
				this.#sources.push(source);
				if (this.#full) source.pause();
				await source.done;
			} catch (error) {
				this.#stats.malformed += 1;
				tell(this, 'disconnect', { peer: path, transport: 'file', error: messageOf(error) });
			}
		}
		if (this.#targets.length > 0) return;
		this.#ended = true;
		this.#wake();
	}

	/** Closes listeners and sessions. What was decoded can still be read; then the iteration ends. */
	async stop(): Promise<void> {
		this.#ended = true;
		await Promise.all(this.#sources.splice(0).map((source) => source.close()));
		this.#wake();
	}

	/** `stop()`, for `await using`. */
	[Symbol.asyncDispose](): Promise<void> {
		return this.stop();
	}

	/** Records as they arrive, at least one at a time. Starts the collector if need be. One reader at a time. */
	async *[Symbol.asyncIterator](): AsyncGenerator<FlowRecord[], void, void> {
		for await (const { json } of this.chunks()) yield parseLines(json);
	}

	/** The same as JSON text, without an object per record. */
	async *chunks(): AsyncGenerator<Chunk, void, void> {
		if (this.#reading) throw new AgentError('ERR_USAGE', 'the collector is being iterated already');
		this.#reading = true;
		try {
			await this.start();
			for (;;) {
				const chunk = this.#queue.shift();
				if (chunk !== undefined) {
					this.#queuedBytes -= chunk.json.length;
					yield chunk;
					if (this.#full && this.#queuedBytes <= this.#maxQueued / 2) this.#resume();
				} else if (this.#ended) {
					return;
				} else {
					await new Promise<void>((resolve) => {
						this.#wakeReader = resolve;
					});
				}
			}
		} finally {
			this.#reading = false;
		}
	}

	readonly #intake: Intake = {
		opened: (session: DecodedSession) => {
			const limit = this.#options.maxSessions ?? DEFAULT_SESSIONS;
			const allowed = this.#options.accept?.({ address: session.address, port: session.port }) ?? true;
			if (!allowed || this.#stats.sessions >= limit) {
				this.#stats.refusedSessions += 1;
				return false;
			}
			this.#stats.sessions += 1;
			tell(this, 'connect', { peer: session.peer, transport: session.transport });
			return true;
		},
		closed: (session: DecodedSession, error: string | null) => {
			this.#stats.sessions -= 1;
			if (error !== null) this.#stats.malformed += 1;
			tell(this, 'disconnect', { peer: session.peer, transport: session.transport, error });
		},
		malformed: (session: DecodedSession, error: string) => {
			this.#stats.malformed += 1;
			tell(this, 'malformed', { peer: session.peer, error });
		},
		decoded: (json: Buffer, records: number) => {
			if (records === 0) return;
			this.#stats.records += records;
			this.#queuedBytes += json.length;
			this.#queue.push({ json, records });
			if (!this.#full && this.#queuedBytes >= this.#maxQueued) {
				this.#full = true;
				for (const source of this.#sources) source.pause();
			}
			this.#wake();
		},
		isFull: () => this.#full,
		dropped: () => {
			this.#stats.droppedDatagrams += 1;
		},
		maxSessions: () => this.#options.maxSessions ?? DEFAULT_SESSIONS,
	};

	#resume(): void {
		this.#full = false;
		for (const source of this.#sources) source.resume();
	}

	#wake(): void {
		this.#wakeReader?.();
		this.#wakeReader = undefined;
	}
}

/** Parses JSON lines that end in a line feed. */
export function parseLines<T = FlowRecord>(json: Buffer): T[] {
	const lines = json.toString('utf8').split('\n');
	lines.pop();
	return lines.map((line) => JSON.parse(line) as T);
}
