/** One transport session as the collector has it: its decoder, because templates belong to the session (RFC 7011 section 8). */
import { type NativeDecoder, native } from '../core/native.ts';
import type { Placed } from './sessions.ts';
import type { ReceivingSettings } from './settings.ts';
import type { Transport } from './types.ts';

/** Why a session ended; the code is one that programs can test. */
export interface Ending {
	code: string;
	error: string;
}

/** admitted → open → ended; over TLS the handshake lies between the first two. */
export type SessionState = 'admitted' | 'open' | 'ended';

const NOTHING = { badMessages: 0, unknownTemplateSets: 0, sequenceGaps: 0, missingRecords: 0 };

export class Session implements Placed {
	readonly transport: Transport;
	/** `HOST:PORT`, or the file's path. */
	readonly peer: string;
	/** Closes what the session comes over. */
	readonly close: () => void;
	state: SessionState = 'admitted';
	lastMessage = performance.now();
	heard = false;
	/** Null as long as it has not ended otherwise than in order. */
	ending: Ending | null = null;
	readonly #settings: ReceivingSettings;
	#decoder: NativeDecoder | undefined;
	#told = NOTHING;

	constructor(transport: Transport, peer: string, settings: ReceivingSettings, close: () => void) {
		this.transport = transport;
		this.peer = peer;
		this.close = close;
		this.#settings = settings;
	}

	decode(chunk: Buffer) {
		return this.#decoding().feed(chunk);
	}

	/** How far into a message the stream has come, in words; null: not at all. */
	cut(): string | null {
		return this.#decoder?.end().error ?? null;
	}

	/** What the decoder has counted since the last call. */
	news() {
		const now = this.#decoding().counters();
		const { badMessages, unknownTemplateSets, sequenceGaps, missingRecords } = this.#told;
		this.#told = now;
		return {
			badMessages: now.badMessages - badMessages,
			unknownTemplateSets: now.unknownTemplateSets - unknownTemplateSets,
			sequenceGaps: now.sequenceGaps - sequenceGaps,
			missingRecords: now.missingRecords - missingRecords,
		};
	}

	/** At the end: the garbage collector, which does not see how much the decoder takes, would let it lie for long. */
	release(): void {
		this.#decoder?.release();
	}

	forgetTemplates(): void {
		this.#decoder?.forgetTemplates();
	}

	/** Made for the first octet: one who is turned away costs none. */
	#decoding(): NativeDecoder {
		const { optionsRecords, largeNumbers } = this.#settings;
		this.#decoder ??= new (native().NativeDecoder)(this.transport === 'udp' ? 'datagram' : 'stream', {
			optionsRecords,
			largeNumbersAsText: largeNumbers === 'text',
			peer: this.peer,
		});
		return this.#decoder;
	}
}
