/**
 * What programs give and get: the public types, written by hand so that an editor shows each with its unit, limits and
 * default. The tables of options (lib/options/table.ts) are pinned to them in lib/options/pinned.ts, both ways.
 */
import type { FieldName } from './options/fields.ts';

export type { FieldName };

/**
 * A time: text with a unit (`500ms`, `5s`, `1.5m`, `10h`, `1d`), or a number of milliseconds. Above zero, at most 24 days.
 * A file, a flag or a variable has to give the unit.
 */
export type DurationInput = number | string;

/** A collector: its URL, or an object with `url` and more. */
export type CollectorInput = string | CollectorTarget;

/** A place that records go to. What its transport does not use is an error. */
export interface CollectorTarget {
	/**
	 * `tcp://HOST[:4739]`, `udp://HOST[:4739]`, `tls://HOST[:4740]` or `file:PATH`. HOST is a name, an address, or an IPv6 address
	 * in brackets, where it needs one with its link.
	 *
	 * @example 'tls://collector.example'
	 * @example 'tcp://[fe80::1%eth0]:4739'
	 */
	url: string;
	/**
	 * How the collector is called in logs, metrics and `/status`. No two have the same.
	 *
	 * @default the URL with its port
	 */
	name?: string | undefined;
	/**
	 * TLS: authorities that the collector's certificate must come from. A PEM file, or PEM text. Files are watched for changes.
	 *
	 * @default those that Node.js knows
	 */
	ca?: string | undefined;
	/** TLS: the agent's own certificate chain, with `key`. A PEM file, or PEM text. */
	cert?: string | undefined;
	/** TLS: the private key of `cert`, not encrypted. A PEM file, or PEM text. */
	key?: string | undefined;
	/** TLS: revoked certificates. A PEM file, or PEM text. */
	crl?: string | undefined;
	/**
	 * TLS: name that the collector's certificate must bear.
	 *
	 * @default the URL's host
	 */
	serverName?: string | undefined;
	/**
	 * TLS: oldest version that is spoken.
	 *
	 * @default 'TLSv1.2'
	 */
	minVersion?: 'TLSv1.2' | 'TLSv1.3' | undefined;
	/**
	 * TCP, TLS, UDP: longest wait for one address to accept.
	 *
	 * @default '10s'
	 */
	connectTimeout?: DurationInput | undefined;
	/**
	 * TCP, TLS: a connection on which octets wait this long and none is acknowledged is ended.
	 *
	 * @default '30s'
	 */
	stallTimeout?: DurationInput | undefined;
	/** Waits between attempts to connect, or to open a file. */
	reconnect?: ReconnectOptions | undefined;
	/**
	 * UDP: templates are sent again after this time (RFC 6728).
	 *
	 * @default '10m'
	 */
	templateRefresh?: DurationInput | undefined;
	/**
	 * UDP: templates are sent again after this many packets (RFC 5153, section 6.2). From 1 to 4,294,967,295.
	 *
	 * @default 20
	 */
	templateRefreshPackets?: number | undefined;
	/**
	 * Octets of a message, header included, at most. From 256 to 65,535.
	 *
	 * @default 65,535; over UDP what the path takes, at most 1,500 a packet; over UDP with the antrea profile 1,024
	 */
	maxMessageSize?: number | undefined;
	/**
	 * Whether options records are sent: statistics, and the types of private elements.
	 *
	 * @default true; false with the antrea profile
	 */
	options?: boolean | undefined;
	/**
	 * File: when a new one is begun.
	 *
	 * @default never
	 */
	rotate?: RotateOptions | undefined;
	/**
	 * File: how often written octets are forced to the disk.
	 *
	 * @default '5s'
	 */
	flushInterval?: DurationInput | undefined;
}

/** The wait before the next attempt: `initial` at first, twice as long each time, at most `max`, with jitter. */
export interface ReconnectOptions {
	/**
	 * The first wait.
	 *
	 * @default '1s'; `max` where that is shorter
	 */
	initial?: DurationInput | undefined;
	/**
	 * The longest wait, no shorter than `initial`.
	 *
	 * @default '60s'; `initial` where that is longer
	 */
	max?: DurationInput | undefined;
}

/** When a file is complete and a new one is begun: whichever comes first. */
export interface RotateOptions {
	/**
	 * Octets of a file, at least 65,536.
	 *
	 * @default no limit
	 */
	size?: number | undefined;
	/**
	 * Age of a file.
	 *
	 * @default no limit
	 */
	interval?: DurationInput | undefined;
}

/** Bits of a connection's mark: those of `mask` have to be those of `value`. 32 bits each. */
export interface MarkFilter {
	/** The bits, which are all within `mask`. From 0 to 4,294,967,295. */
	value: number;
	/** Which bits matter. From 0 to 4,294,967,295. */
	mask: number;
}

/** A Pod that the ends of connections are named by. */
export interface PodInput {
	/** Its name, at most 253 octets. */
	name: string;
	/** Its namespace, at most 253 octets; empty where Pods have none. */
	namespace: string;
	/**
	 * The node that it runs on, at most 253 octets.
	 *
	 * @default '', not known
	 */
	node?: string | undefined;
	/** All of its addresses, IPv4 and IPv6, of which no other Pod has one; none: the Pod has no address yet. */
	addresses: readonly string[];
}

/** Which connections are read: what `dump()` takes, and the exporter among its options. */
export interface ConnectionFilters {
	/**
	 * Only connections of these conntrack zones (0 is zone 0 only), in either direction. From 0 to 65,535 each; an empty
	 * list selects all.
	 *
	 * @default all; antrea: those of Antrea, 65520 for IPv4 and 65510 for IPv6
	 */
	zones?: readonly number[] | undefined;
	/**
	 * Only these address families, at least one.
	 *
	 * @default both
	 */
	families?: ReadonlyArray<'ipv4' | 'ipv6'> | undefined;
	/**
	 * Only these protocols, at least one: icmp, tcp, udp, dccp, gre, icmpv6, sctp, udplite, or a number from 0 to 255.
	 *
	 * @default all
	 */
	protocols?: ReadonlyArray<string | number> | undefined;
	/**
	 * Only connections with `(mark & MASK) == VALUE`: a number, `'VALUE'` or `'VALUE/MASK'` (hexadecimal with `0x`), or an object.
	 *
	 * @default all
	 * @example '0x10/0xf0'
	 */
	mark?: string | number | MarkFilter | undefined;
	/**
	 * Addresses and networks: a connection with either end of its original direction inside one is left out.
	 *
	 * @default none
	 * @example ['10.0.0.0/8', 'fd00::/8']
	 */
	exclude?: readonly string[] | undefined;
	/**
	 * Network namespace to read: a path, a name (of `ip netns`) or a process id. Needs CAP_SYS_ADMIN too. One that is not there yet
	 * is waited for.
	 *
	 * @default the agent's own
	 */
	netns?: string | number | undefined;
}

/** Options of `new FlowExporter()`, and of a file for `--config`. */
export interface ExporterOptions extends ConnectionFilters {
	/**
	 * Where records go. Without one nothing is exported (the command `run` then prints the records).
	 *
	 * @default none
	 * @example ['tcp://one.example', { url: 'tls://two.example', ca: '/etc/ca.pem' }]
	 */
	collectors?: readonly CollectorInput[] | undefined;
	/**
	 * `ca` of the tls:// collectors that have none of their own; an error where no collector is tls://.
	 *
	 * @default those that Node.js knows
	 */
	tlsCa?: string | undefined;
	/** `cert` of the tls:// collectors that have none of their own. */
	tlsCert?: string | undefined;
	/** `key` of the tls:// collectors that have none of their own. */
	tlsKey?: string | undefined;
	/**
	 * `serverName` of the tls:// collectors that have none of their own.
	 *
	 * @default the URL's host
	 */
	tlsServerName?: string | undefined;
	/**
	 * `failover`: to the first collector in order that takes records; `all`: to every one.
	 *
	 * @default 'failover'
	 */
	delivery?: 'failover' | 'all' | undefined;
	/**
	 * Which elements records have, and some defaults; see docs/elements.md.
	 *
	 * @default 'standard'
	 */
	profile?: 'standard' | 'antrea' | undefined;
	/**
	 * Elements by name, in this order, instead of all of the standard profile. Each name once, and for every kind of connection at
	 * least one.
	 *
	 * @default all of the profile
	 * @example ['sourceIPv4Address', 'sourceIPv6Address', 'octetDeltaCount']
	 */
	fields?: readonly FieldName[] | undefined;
	/**
	 * `poll`: read the whole table each interval; `events`: follow the kernel's events, look connections up before a deadline.
	 *
	 * @default 'poll'
	 */
	source?: 'poll' | 'events' | undefined;
	/**
	 * With events: how often the whole table is read all the same.
	 *
	 * @default '5m'
	 */
	resyncInterval?: DurationInput | undefined;
	/**
	 * With events: octets of the socket's receive buffer. From 4,096 to 1,073,741,824.
	 *
	 * @default 8388608
	 */
	eventBufferSize?: number | undefined;
	/**
	 * Whether the agent's own sessions to its collectors are exported too.
	 *
	 * @default false
	 */
	includeOwn?: boolean | undefined;
	/**
	 * How often the table is read. At least 100 ms.
	 *
	 * @default '5s'
	 */
	pollInterval?: DurationInput | undefined;
	/**
	 * How often a long-lived connection is reported. No shorter than the poll interval.
	 *
	 * @default '60s'; antrea: 5s; the poll interval where that is longer
	 */
	activeTimeout?: DurationInput | undefined;
	/**
	 * A connection whose counters rest this long is reported. No shorter than the poll interval.
	 *
	 * @default '15s'; the poll interval where that is longer
	 */
	idleTimeout?: DurationInput | undefined;
	/**
	 * A connection that has ended and that nobody took for this long is given up, and counted as lost.
	 *
	 * @default '5m'
	 */
	staleTimeout?: DurationInput | undefined;
	/**
	 * Most connections in the table. From 1 to 4,294,967,294.
	 *
	 * @default twice the kernel's maximum, at least 65,536, at most 1,000,000
	 */
	maxConnections?: number | undefined;
	/**
	 * What a full table does with one more connection: leave it out, or make room by giving up the one that has been idle longest.
	 *
	 * @default 'reject-new'
	 */
	whenFull?: 'reject-new' | 'evict-idle' | undefined;
	/**
	 * What the first record of a connection older than the agent has as deltas: nothing, or all that the kernel has counted.
	 *
	 * @default 'zero'
	 */
	initialDelta?: 'zero' | 'total' | undefined;
	/**
	 * File in which what was exported outlives the agent: written every minute and at the stop, into a folder that must be there.
	 *
	 * @default none
	 */
	stateFile?: string | undefined;
	/**
	 * Observation domain of flow records. From 0 to 4,294,967,295.
	 *
	 * @default 1; antrea: a hash (FNV-1) of the node's name
	 */
	observationDomain?: number | undefined;
	/**
	 * `HOST:PORT` where the command `run` serves `/metrics`, `/healthz`, `/readyz` and `/status`; port 0 takes a free one. `FlowExporter`
	 * by itself serves nothing.
	 *
	 * @default none
	 */
	metrics?: string | undefined;
	/**
	 * Of the command `run`: what of its log is written.
	 *
	 * @default 'info'
	 */
	logLevel?: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent' | undefined;
	/**
	 * Of the command `run`: how its log is written.
	 *
	 * @default 'pretty' on a terminal, 'json' elsewhere
	 */
	logFormat?: 'json' | 'pretty' | undefined;
	/**
	 * Greatest part of the time that polls may take: above 0, at most 1. After one that takes long the next begins later.
	 *
	 * @default 0.2
	 */
	maxPollShare?: number | undefined;
	/**
	 * Octets that may wait for acknowledgement on one session. From 65,536 to 1,073,741,824.
	 *
	 * @default 4194304
	 */
	window?: number | undefined;
	/**
	 * Records of one batch, at most. From 1 to 65,535.
	 *
	 * @default 1024
	 */
	batchRecords?: number | undefined;
	/**
	 * A dump of the kernel's table without any progress for this long is incomplete.
	 *
	 * @default '5s'
	 */
	pollRetryTimeout?: DurationInput | undefined;
	/**
	 * How long a stop waits for what is unsettled.
	 *
	 * @default '5s'
	 */
	gracePeriod?: DurationInput | undefined;
	/**
	 * Antrea: whether the uplink is part of the bridge, which moves its zones to 4096 and 12288.
	 *
	 * @default false
	 */
	connectUplinkToBridge?: boolean | undefined;
	/**
	 * Pods that the ends of connections are named by, until `setPods()`. With a list, an empty one too, records of the standard profile
	 * have elements for names.
	 *
	 * @default none
	 */
	pods?: readonly PodInput[] | undefined;
	/**
	 * Stops the exporter when it aborts. In JavaScript only.
	 *
	 * @default none
	 */
	signal?: AbortSignal | undefined;
}
