/**
 * What programs give and get: the public types, written by hand so that an editor shows each with its unit, limits and
 * default. The tables of options (lib/options/table.ts) are pinned to them in lib/options/pinned.ts, both ways.
 */
import type { AntreaElements, Elements, StandardElements } from './elements.ts';
import type { FieldName } from './options/fields.ts';

export type { Elements, FieldName };

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
	/**
	 * All of its addresses, IPv4 and IPv6; none: the Pod has no address yet. No other Pod may have one of them, unless both have
	 * different `startTime`s.
	 */
	addresses: readonly string[];
	/**
	 * Its UUID, for `sourcePodUUID` and `destinationPodUUID` of the standard profile.
	 *
	 * @default none
	 */
	uid?: string | undefined;
	/**
	 * When it started, as ISO 8601 in UTC: connections that began earlier are not its own. So an address passes from one Pod to the next.
	 *
	 * @default it was always there
	 */
	startTime?: string | Date | undefined;
	/**
	 * How its connections to external ends leave the cluster.
	 *
	 * @default not known
	 */
	egress?: EgressInput | undefined;
}

/** Where connections to external ends leave a cluster. */
export interface EgressInput {
	/** Its name, at most 253 octets. */
	name: string;
	/**
	 * The address that external ends see.
	 *
	 * @default not known
	 */
	ip?: string | undefined;
	/**
	 * The node that has it, at most 253 octets.
	 *
	 * @default '', not known
	 */
	node?: string | undefined;
}

/** One port of a Service that connections go to. Its name is `namespace/name:portName`. */
export interface ServiceInput {
	/** The Service's name, at most 253 octets. */
	name: string;
	/**
	 * Its namespace, at most 253 octets.
	 *
	 * @default '', none
	 */
	namespace?: string | undefined;
	/**
	 * The port's name, at most 253 octets.
	 *
	 * @default '', none
	 */
	portName?: string | undefined;
	/** What clients connect to: addresses of the cluster, of load balancers, and of nodes for node ports. */
	addresses: readonly string[];
	/** The port that clients connect to, from 1 to 65,535. */
	port: number;
	/** The port's protocol. */
	protocol: 'TCP' | 'UDP' | 'SCTP';
}

/** One rule of a network policy. */
export interface PolicyRuleInput {
	/** The number that connections' labels carry, from 1 to 4,294,967,295. */
	number: number;
	/** The policy's name, at most 253 octets. */
	name: string;
	/**
	 * The policy's namespace, at most 253 octets.
	 *
	 * @default '', none
	 */
	namespace?: string | undefined;
	/** The policy's type. */
	type: 'K8sNetworkPolicy' | 'AntreaNetworkPolicy' | 'AntreaClusterNetworkPolicy' | 'K8sClusterNetworkPolicy';
	/**
	 * The rule's name, at most 253 octets.
	 *
	 * @default '', none
	 */
	rule?: string | undefined;
	/**
	 * What the rule does.
	 *
	 * @default 'allow'
	 */
	action?: 'allow' | 'drop' | 'reject' | undefined;
}

/** A network that names the ends of connections that are no Pods. */
export interface NetworkInput {
	/** Its name, at most 253 octets. */
	name: string;
	/** Its prefixes, such as `10.0.0.0/8` or `fd00::/8`. Of all networks the longest prefix that holds an address names it. */
	prefixes: readonly string[];
}

/** Bits of connections' labels as `FIRST-LAST`, at most 32 of the bits 0 to 127 each. */
export interface RuleLabelsInput {
	/** Those of the rule that let the connection in at its destination. */
	ingress: string;
	/** Those of the rule that let it out at its source. */
	egress: string;
}

/** Which connections are read: what `dump()` takes, and the exporter among its options. */
export interface ConnectionFilters {
	/**
	 * Only connections of these conntrack zones (0 is zone 0 only), in either direction. From 0 to 65,535 each, at most 200; an empty
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
	 * Names under which `metrics` may be asked, beside addresses, `localhost` and its own host. A request for any other is refused:
	 * a page of somewhere else may have made a browser ask (DNS rebinding).
	 *
	 * @default none
	 * @example ['conntrack-ipfix.monitoring.svc']
	 */
	metricsHosts?: readonly string[] | undefined;
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
	 * The node, told in `observationDomainName` of the standard profile where this is set. In the antrea profile the observation domain is
	 * made of it.
	 *
	 * @default the environment's NODE_NAME, else the host's name, and not told
	 */
	nodeName?: string | undefined;
	/**
	 * The node's cluster, told in `clusterId` of the standard profile where this is set.
	 *
	 * @default not told
	 */
	clusterName?: string | undefined;
	/**
	 * Pods that the ends of connections are named by, until `setPods()`: a list, or the path of a file with one in JSON or YAML, which is read
	 * again when it changes. With any source of names, an empty one too, records of the standard profile have elements for them.
	 *
	 * @default none
	 */
	pods?: readonly PodInput[] | string | undefined;
	/**
	 * Services that connections go to, until `setServices()`: a list, or a file as for `pods`.
	 *
	 * @default none
	 */
	services?: readonly ServiceInput[] | string | undefined;
	/**
	 * Only connections with `(mark & MASK) == VALUE` go to Services.
	 *
	 * @default none: all connections to a Service's address; antrea: '0x10/0x10'
	 */
	serviceMark?: string | number | MarkFilter | undefined;
	/**
	 * Rules of network policies, by the numbers in connections' labels, until `setPolicyRules()`: a list, or a file as for `pods`. A rule
	 * that is gone stays known for five seconds, or a poll interval where that is longer.
	 *
	 * @default none, and labels are not read
	 */
	policyRules?: readonly PolicyRuleInput[] | string | undefined;
	/**
	 * Which bits of the labels carry the numbers of rules.
	 *
	 * @default { ingress: '0-31', egress: '32-63' }, as Antrea has them
	 */
	ruleLabels?: RuleLabelsInput | undefined;
	/**
	 * Networks that name the ends of connections that are no Pods, until `setNetworks()`: a list, or a file as for `pods`, or a file `.csv` with
	 * a line `PREFIX,NAME` for each prefix.
	 *
	 * @default none
	 */
	networks?: readonly NetworkInput[] | string | undefined;
	/**
	 * Where the cluster's Pods have their addresses: what is outside is external, in `flowType`.
	 *
	 * @default none, and no flow is known to be external
	 * @example ['10.244.0.0/16']
	 */
	podNetworks?: readonly string[] | undefined;
	/**
	 * Stops the exporter when it aborts. In JavaScript only.
	 *
	 * @default none
	 */
	signal?: AbortSignal | undefined;
}

/** Records, and the packets and octets of traffic that they tell of, both directions together. */
export interface Amount {
	/** Records. */
	records: number;
	/** Packets of the traffic, both directions together. */
	packets: number;
	/** Octets of the traffic (IP packets with their headers), both directions together. */
	octets: number;
}

/** What one poll of the kernel's table saw. */
export interface PollSummary {
	/** Selected connections over IPv4. */
	ipv4: number;
	/** Selected connections over IPv6. */
	ipv6: number;
	/** All entries of the kernel's table. */
	kernelEntries: number;
	/** Most entries that the kernel's table takes. */
	kernelMax: number;
	/** Connections that were not known before. */
	added: number;
	/** Connections that are no longer there, or closed. */
	ended: number;
	/** How long the poll took, in milliseconds. */
	durationMs: number;
	/** False: it was cut short, and ended no connection. */
	complete: boolean;
}

/** What was settled since the last summary. */
export interface ExportSummary extends Amount {}

/** What was lost for one reason: since the last summary in the event `loss`, since the start in `stats()`. */
export interface LossSummary extends Amount {
	/**
	 * For all: `stale`, `refused` (the table was full), `evicted`, `too_large`, `left_at_stop`. For a collector: `away`, `stalled`,
	 * `udp_refused`, `too_large`, `left_at_stop`. docs/delivery.md says when.
	 */
	reason: string;
	/** Null: no collector has the records; otherwise the name of the one that misses them. */
	collector: string | null;
}

/** What an exporter tells, by name. */
export interface ExporterEvents {
	/** A poll ended. */
	poll: [PollSummary];
	/** What was settled since the last summary; at most one a second. */
	export: [ExportSummary];
	/** What was lost since the last summary, one for each reason and collector; at most one a second. */
	loss: [LossSummary[]];
	/** A session is open. */
	connect: [{ collector: string }];
	/** A session has ended. `retryInMs`: milliseconds until the next attempt; null: none follows. */
	disconnect: [{ collector: string; reason: string; retryInMs: number | null }];
	/** Something to know that the exporter lives with; docs/errors.md has all codes. */
	warning: [{ code: string; message: string }];
	/** Once: it could not be started, or has stopped for good. docs/errors.md has all codes. */
	error: [Error];
}

/** Where an exporter stands between its construction and its stop; it can be started again. */
export type ExporterState = 'new' | 'starting' | 'running' | 'stopping' | 'stopped';

/** A plain snapshot of an exporter; counters count from its last `start()`. */
export interface ExporterStats {
	/** Where it stands. */
	state: ExporterState;
	/** The table of connections; null before the kernel was opened. */
	table: TableStats | null;
	/** Milliseconds from one poll's start to the next, as planned. */
	pollIntervalEffective: number;
	/** When the last poll was complete, in milliseconds since 1970; null before it. */
	lastSuccessfulPoll: number | null;
	/** When the last attempt to poll ended, in milliseconds since 1970; null before it. */
	lastPollAttempt: number | null;
	/** How long the records that are due have waited, in milliseconds. */
	exportLag: number;
	/** Batches of records that were taken from the table and are not settled. */
	batchesInFlight: number;
	/** False after changed certificates could not be used by one of the sessions, until it could use some. */
	lastReloadSuccessful: boolean;
	/** What was settled: at least one collector has it. */
	exported: ExportSummary;
	/** By reason, and by collector where it is one that misses the records. Sum those of one kind of `collector` only. */
	losses: LossSummary[];
	/** One for each collector, in the order of the option. */
	collectors: SessionStats[];
}

/** Counters of the table of connections. */
export interface TableStats {
	/** Connections that it holds, in any state. */
	connections: number;
	/** Of these, those whose counters rest and that were exported as such. */
	idle: number;
	/** Of these, those that have ended and whose end is not settled. */
	ended: number;
	/** Connections that wait for a deadline. */
	queued: number;
	/** Connections of which a record is on its way. */
	inFlight: number;
	/** Octets of memory that the table takes. */
	tableBytes: number;
	/** Most connections that it takes. */
	maxConnections: number;
	/** Entries in the kernel's table. */
	kernelEntries: number;
	/** Most entries that the kernel's table takes. */
	kernelMax: number;
	/** Polls that ended, complete or not. */
	polls: number;
	/** Polls that failed. */
	pollFailures: number;
	/** Dumps that were cut short, and ended no connection. */
	incompleteDumps: number;
	/** Messages of the kernel that could not be read, and look-ups that it refused. */
	malformedMessages: number;
	/** Times that the event socket lost events. */
	eventOverruns: number;
	/** Connections that the last poll left out because the table was full. */
	refusedConnections: number;
	/** Connections that were ever left out for that, each counted once. */
	refusedTotal: number;
	/**
	 * Of `refusedConnections`, those beyond the `maxConnections` (at least 65,536) that are remembered. Their traffic is in
	 * no other figure.
	 */
	unrememberedConnections: number;
	/** Idle connections that made room for others. */
	evictedTotal: number;
	/** Connections that were forgotten although the kernel may hold them: what they moved may be exported again. */
	forgottenTotal: number;
	/** Records that were settled. */
	recordsCommitted: number;
	/** Distinct combinations of names that are held. */
	names: number;
	/** Connections without names because there was no room for theirs. */
	unnamedTotal: number;
	/** Numbers in labels that no policy rule had when their connection was first seen. */
	unknownRulesTotal: number;
	/** What was lost for all, by reason: `stale`, `refused`, `evicted`, `too_large`, `left_at_stop`. */
	losses: Array<Amount & { reason: string }>;
}

/** A record's message (RFC 7011, section 3.1). */
export interface RecordMessage {
	/** When it left the exporter: ISO 8601 in UTC. */
	exportTime: string;
	/** Observation domain of the exporter. */
	observationDomainId: number;
	/** Data records that were sent before it, modulo 2^32. */
	sequenceNumber: number;
	/** Template of the record. */
	templateId: number;
	/** Who sent it: `HOST:PORT`, IPv6 in brackets, or the path of a file. */
	peer: string;
}

/**
 * One IPFIX data record: elements by registry name, those of its template, and its message. An element that stands again is
 * `NAME_2`, then `NAME_3`, in the order of the template; one that no registry knows is `ENTERPRISE/NUMBER`, its octets in
 * hexadecimal. Date-times have three digits of a second, those of microseconds six, of nanoseconds nine.
 */
export interface FlowRecord extends Elements {
	/** The message that it came in. */
	message: RecordMessage;
	/** Of an options record: what it is about. */
	scope?: Elements & { [element: string]: unknown };
	/** Whatever else its template has. */
	[element: string]: unknown;
}

/** A record of an exporter in the standard profile, of all its elements. */
export type StandardRecord = FlowRecord & StandardElements;

/** A record of an exporter in the antrea profile. */
export type AntreaRecord = FlowRecord & AntreaElements;

/** Elements of one direction of a connection: those of its family and protocol. */
export interface ConnectionTuple
	extends Pick<
		Elements,
		| 'sourceIPv4Address'
		| 'destinationIPv4Address'
		| 'sourceIPv6Address'
		| 'destinationIPv6Address'
		| 'sourceTransportPort'
		| 'destinationTransportPort'
		| 'icmpTypeCodeIPv4'
		| 'icmpTypeCodeIPv6'
	> {
	/** IP protocol, such as 6 for TCP. */
	protocolIdentifier: number;
	/** Of an ICMP connection: its identifier. */
	icmpId?: number;
}

/**
 * One entry of the kernel's table: elements by registry name, and conntrack's own names for the rest. What the kernel did not say is
 * left out: counters without accounting, times without timestamps.
 */
export interface Connection
	extends ConnectionTuple,
		Pick<
			Elements,
			| 'postNATSourceIPv4Address'
			| 'postNATDestinationIPv4Address'
			| 'postNATSourceIPv6Address'
			| 'postNATDestinationIPv6Address'
			| 'postNAPTSourceTransportPort'
			| 'postNAPTDestinationTransportPort'
			| 'octetTotalCount'
			| 'packetTotalCount'
			| 'reverseOctetTotalCount'
			| 'reversePacketTotalCount'
			| 'flowStartMilliseconds'
			| 'flowEndMilliseconds'
		> {
	/** Conntrack zone of the original direction. */
	ingressVRFID: number;
	/** Conntrack zone of the reply direction. */
	egressVRFID: number;
	/** Its mark, 32 bits. */
	mark: number;
	/** The kernel's id of the entry. */
	conntrackId: number;
	/** Names of the bits of its status, such as `ASSURED`. */
	status: string[];
	/** TCP: its state, such as `ESTABLISHED`. */
	tcpState?: string;
	/** SCTP: its state. */
	sctpState?: string;
	/** Seconds until the kernel forgets it. */
	timeout?: number;
	/** Its labels: 128 bits as hexadecimal text with `0x`. */
	labels?: string;
	/** Name of its helper. */
	helper?: string;
	/** The connection that it belongs to, as the data connection of FTP does. */
	master?: ConnectionTuple;
}

/**
 * connecting → open ⇄ stalled → draining → closed, and from each but closed → backoff → connecting.
 * stalled: the window has been full, or the session about to move to another connection, for a second; it takes nothing
 * until all of it is settled, or it has moved.
 * draining: takes nothing more and closes when all is settled.
 */
export type SessionState = 'connecting' | 'open' | 'stalled' | 'draining' | 'closed' | 'backoff';

/** A snapshot of the session to one collector; counters count over all its connections since the exporter's start. */
export interface SessionStats {
	/** The collector's name. */
	name: string;
	/** Where the session stands. */
	state: SessionState;
	/** Why the last connection ended, or null. */
	lastError: string | null;
	/** Octets of IPFIX that are queued or not acknowledged. */
	unsettledBytes: number;
	/** Octets of IPFIX handed to our kernel. */
	sentBytes: number;
	/** Messages handed to our kernel, without those of templates and options. */
	sentMessages: number;
	/** Flow records that were settled. */
	exportedRecords: number;
	/** Octets of IPFIX in which these were. What the records tell of is in `exported` of the exporter's `stats()`. */
	settledBytes: number;
	/**
	 * Records sent again, here or to another collector, although they may have arrived: all of their message had left
	 * when the connection broke, and it was not acknowledged. Nobody can know more of them.
	 */
	duplicateRecords: number;
	/** Connections that stood, the present one included. */
	connections: number;
	/** When the agent's own certificate for this collector ends, in milliseconds since 1970; null without one. */
	certificateExpiry: number | null;
	/** What this collector misses, by reason. */
	lost: Array<Amount & { reason: string }>;
}
