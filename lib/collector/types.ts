/** What programs give a `Collector` and get from it: the public types. */

/** Options of `new Collector()`. A wrong one is an `OptionError`. */
export interface CollectorOptions {
	/**
	 * Addresses to listen on: `tcp://HOST[:4739]`, `udp://HOST[:4739]` or `tls://HOST[:4740]`. Port 0 takes a free one.
	 *
	 * @example ['tcp://0.0.0.0:4739', 'udp://0.0.0.0:4739']
	 */
	listen?: readonly string[] | undefined;
	/**
	 * IPFIX files to read, one after the other. When nothing is listened on, the iteration ends after the last one, with an
	 * error if one of them could not be read in full.
	 */
	files?: readonly string[] | undefined;
	/**
	 * Whether options records come out too.
	 *
	 * @default false
	 */
	optionsRecords?: boolean | undefined;
	/**
	 * How integers beyond ±(2^53 - 1) come out, which a JavaScript number rounds: `text` keeps all digits.
	 *
	 * @default 'number'
	 */
	largeNumbers?: 'number' | 'text' | undefined;
	/** TLS: the collector's own certificate chain, with `key`. A PEM file, or PEM text. */
	cert?: string | undefined;
	/** TLS: the private key of `cert`, not encrypted. A PEM file, or PEM text. */
	key?: string | undefined;
	/** TLS: authorities that exporters' certificates must come from; without them any exporter is taken. A PEM file, or PEM text. */
	ca?: string | undefined;
	/** TLS: revoked certificates of exporters. A PEM file, or PEM text. */
	crl?: string | undefined;
	/**
	 * Most connections at a time over TCP and TLS, unfinished handshakes included, from 1 to 65,536; as many sessions again
	 * over UDP. For one more, the connection goes that has been silent for longest: one that never delivered a message, or
	 * one that delivered none for a second; if there is none, the new one is refused. Over UDP the quietest is forgotten.
	 *
	 * @default 256
	 */
	maxSessions?: number | undefined;
	/**
	 * A connection that delivers no message for this long is closed, a UDP session forgotten. Whoever is held back because
	 * nobody reads the records is not silent.
	 *
	 * @default '30m'
	 */
	idleTimeout?: number | string | undefined;
	/**
	 * TLS: longest handshake.
	 *
	 * @default '10s'
	 */
	handshakeTimeout?: number | string | undefined;
	/**
	 * Octets of decoded JSON text that may wait for the reader, from 4,096 to 1 GiB. When they do, connections and files are not
	 * read and datagrams are dropped, until half of it is gone.
	 *
	 * @default 16777216 (16 MiB)
	 */
	maxQueuedBytes?: number | undefined;
	/**
	 * Octets of memory for templates of all sessions together, from 65,536 to 1 GiB. Beyond it the session that has been
	 * silent for longest loses its templates: a connection is closed, so that its exporter connects again and sends them
	 * again; over UDP they come at the next refresh.
	 *
	 * @default 67108864 (64 MiB)
	 */
	maxTemplateBytes?: number | undefined;
	/** Asked for each connection, before its handshake, and for each new sender over UDP; false refuses it. */
	accept?: ((peer: { address: string; port: number }) => boolean) | undefined;
	/** Stops the collector when it aborts. */
	signal?: AbortSignal | undefined;
}

/** What a collector tells, by name. */
export interface CollectorEvents {
	/** A session began: after the handshake over TLS, with the first message over UDP, at its opening for a file. */
	connect: [{ peer: string; transport: Transport }];
	/** `error` and `code` are null when the session ended in order. */
	disconnect: [{ peer: string; transport: Transport; error: string | null; code: string | null }];
	/** A datagram could not be read; what is well-formed in it was. As often as they come: `warning` is bounded. */
	malformed: [{ peer: string; error: string }];
	/** Something that was missed, refused or dropped: at most one a second of each `code`, `count` of them since the last. */
	warning: [CollectorWarning];
}

/** Something that was missed, refused or dropped; docs/errors.md has all codes. */
export interface CollectorWarning {
	/**
	 * What it is about; docs/errors.md has each of them, and what to do.
	 */
	code: CollectorWarningCode;
	/** In words, with the last of them. */
	message: string;
	/** How often since the last one. */
	count: number;
}

/** What kind of thing. */
export type CollectorWarningCode =
	| 'ERR_MALFORMED'
	| 'ERR_CONNECTION'
	| 'ERR_HANDSHAKE'
	| 'ERR_NO_ROOM'
	| 'ERR_IDLE'
	| 'ERR_QUEUE_FULL'
	| 'ERR_SEQUENCE_GAP'
	| 'ERR_UNKNOWN_TEMPLATE'
	| 'ERR_TEMPLATE_MEMORY'
	| 'ERR_LISTEN'
	| 'ERR_TLS';

/** How a session's octets come. */
export type Transport = 'tcp' | 'tls' | 'udp' | 'file';

/** Where a collector stands between its construction and its stop. */
export type CollectorState = 'new' | 'starting' | 'running' | 'stopping' | 'stopped';

/** A plain snapshot; counters count over all starts. */
export interface CollectorStats {
	/** Where it stands. */
	state: CollectorState;
	/** Sessions now: connections after their handshake, senders over UDP, a file that is being read. */
	sessions: number;
	/** Connections whose TLS handshake is not finished. */
	handshakes: number;
	/** Octets of decoded text that wait for the reader. */
	queuedBytes: number;
	/** Octets of memory that the templates of all sessions take. */
	templateBytes: number;
	/** Sessions that began. */
	acceptedSessions: number;
	/** Records decoded, options records only where they are wanted. */
	records: number;
	/** Refused for lack of room, or by `accept`. */
	refusedSessions: number;
	/** Closed or forgotten to make room for a newer one. */
	displacedSessions: number;
	/** Closed or forgotten after `idleTimeout`. */
	idleSessions: number;
	/** Ended by a reset, or by an exporter that vanished. */
	brokenSessions: number;
	/** TLS handshakes that failed or took too long. */
	failedHandshakes: number;
	/** Messages that could not be read: bad datagrams, and the one that a stream or file broke off in or became unreadable at. */
	malformed: number;
	/** Datagrams that came while the queue was full. */
	droppedDatagrams: number;
	/** Times that a sequence number jumped ahead. Over UDP a message that comes late leaves one behind. */
	sequenceGaps: number;
	/** Records that these jumps stand for, as exporters number them. */
	missingRecords: number;
	/** Data sets passed over because their template is not known. */
	unknownTemplateSets: number;
	/** Sessions that lost their templates for lack of memory. */
	forgottenTemplates: number;
}

/** Records as text, as `chunks()` of a collector gives them. */
export interface Chunk {
	/** A JSON object and a line feed for each record, in UTF-8. */
	json: Buffer;
	/** How many they are. */
	records: number;
}
