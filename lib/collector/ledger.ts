/**
 * What a collector missed, refused and dropped: counted as it happens, told in words at most once a second of each kind,
 * because strangers decide how often it happens.
 */
import type { CollectorStats, CollectorWarning, CollectorWarningCode } from './types.ts';

export type Counters = Omit<
	CollectorStats,
	'state' | 'sessions' | 'handshakes' | 'queuedBytes' | 'templateBytes'
>;

const TELL_MS = 1_000;

/** In words, for a number of them. */
const WORDS: Readonly<Record<CollectorWarningCode, [one: string, many: string]>> = {
	ERR_MALFORMED: ['message could not be read', 'messages could not be read'],
	ERR_CONNECTION: ['connection was broken', 'connections were broken'],
	ERR_HANDSHAKE: ['TLS handshake failed', 'TLS handshakes failed'],
	ERR_NO_ROOM: ['session had no room', 'sessions had no room'],
	ERR_IDLE: ['silent session was closed', 'silent sessions were closed'],
	ERR_QUEUE_FULL: [
		'datagram was dropped because the records before it are not read',
		'datagrams were dropped because the records before them are not read',
	],
	ERR_SEQUENCE_GAP: ['record is missing', 'records are missing'],
	ERR_UNKNOWN_TEMPLATE: [
		'set of records could not be read without its template',
		'sets of records could not be read without their template',
	],
	ERR_TEMPLATE_MEMORY: [
		'session lost its templates for lack of memory',
		'sessions lost their templates for lack of memory',
	],
	ERR_LISTEN: ['connection could not be accepted', 'connections could not be accepted'],
	ERR_TLS: ['renewal of certificates failed', 'renewals of certificates failed'],
};

interface News {
	count: number;
	last: string;
}

export class Ledger {
	readonly counters: Counters = {
		acceptedSessions: 0,
		records: 0,
		refusedSessions: 0,
		displacedSessions: 0,
		idleSessions: 0,
		brokenSessions: 0,
		failedHandshakes: 0,
		malformed: 0,
		droppedDatagrams: 0,
		sequenceGaps: 0,
		missingRecords: 0,
		unknownTemplateSets: 0,
		forgottenTemplates: 0,
	};
	readonly #tell: (warning: CollectorWarning) => void;
	readonly #news = new Map<CollectorWarningCode, News>();
	#timer: NodeJS.Timeout | undefined;

	/** `tell` must not throw. */
	constructor(tell: (warning: CollectorWarning) => void) {
		this.#tell = tell;
	}

	/** `last`: whom it happened to, and why. */
	note(code: CollectorWarningCode, count: number, last: string): void {
		const news = this.#news.get(code);
		this.#news.set(code, { count: (news?.count ?? 0) + count, last });
		// The first is told at once.
		if (this.#timer === undefined) this.#tellAndWait();
	}

	/** Tells what is not told yet. */
	flush(): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		for (const [code, { count, last }] of this.#news) {
			const [one, many] = WORDS[code];
			const message = `${count === 1 ? `a ${one}` : `${count} ${many}`}; the last: ${last}`;
			this.#tell({ code, count, message });
		}
		this.#news.clear();
	}

	#tellAndWait(): void {
		this.flush();
		this.#timer = setTimeout(() => {
			this.#timer = undefined;
			if (this.#news.size > 0) this.#tellAndWait();
		}, TELL_MS).unref();
	}
}

/** What went wrong, in a line; undefined when nothing did. */
export function losses(counters: Counters): string | undefined {
	const parts = (
		[
			['malformed', 'messages that could not be read'],
			['missingRecords', 'records missing'],
			['unknownTemplateSets', 'sets without their template'],
			['droppedDatagrams', 'datagrams dropped'],
			['brokenSessions', 'sessions broken'],
			['failedHandshakes', 'TLS handshakes failed'],
			['refusedSessions', 'sessions refused'],
			['displacedSessions', 'sessions displaced'],
			['idleSessions', 'silent sessions closed'],
			['forgottenTemplates', 'sessions that lost their templates'],
		] as const
	).flatMap(([counter, words]) => (counters[counter] > 0 ? [`${counters[counter]} ${words}`] : []));
	return parts.length > 0 ? parts.join(', ') : undefined;
}
