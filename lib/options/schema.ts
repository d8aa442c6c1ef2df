/**
 * The one schema of all options. What is raw enters `schemaFor(origin)`; what leaves is `Parsed`: checked, in
 * milliseconds and plain numbers, with nothing filled in.
 */
import { isIP, isIPv4 } from 'node:net';
import { z } from 'zod';
import { podsSchema } from '../names/pods.ts';
import { checkMilliseconds, DURATION_SYNTAX, parseDuration } from './duration.ts';
import { parseEndpoint, parseTarget, TARGET_SYNTAX, type Target } from './target.ts';

/** A number is milliseconds (JavaScript only); a string needs a unit. */
export type DurationInput = number | string;

const PROTOCOLS: Readonly<Record<string, number>> = {
	icmp: 1,
	tcp: 6,
	udp: 17,
	dccp: 33,
	gre: 47,
	icmpv6: 58,
	sctp: 132,
	udplite: 136,
};

/** A value that is checked and converted by `convert`; undefined from it means that `expected` was not met. */
function parsed<In, Out>(expected: string, convert: (value: In) => Out | undefined) {
	return z.custom<In>().transform((value, context): Out => {
		const result = convert(value);
		if (result === undefined) {
			context.addIssue({ code: 'custom', message: expected, input: value });
			return z.NEVER;
		}
		return result;
	});
}

const integer = (low: number, high: number) =>
	parsed<number, number>(`a whole number from ${low} to ${high}`, (value) =>
		Number.isInteger(value) && value >= low && value <= high ? value : undefined,
	);
const text = (expected: string) => z.string({ error: expected }).min(1, { error: expected });
const choice = <const T extends readonly [string, ...string[]]>(...values: T) =>
	z.enum(values, { error: `one of ${values.join(', ')}` });
const flag = () => z.boolean({ error: 'true or false' });
const list = <T extends z.ZodType>(element: T, expected: string) => z.array(element, { error: expected });

const u16 = integer(0, 65535);
const u32 = integer(0, 0xffff_ffff);
const protocol = parsed<number | string, number>(
	`a protocol: ${Object.keys(PROTOCOLS).join(', ')}, or a number from 0 to 255`,
	(value) => {
		const number = typeof value === 'string' ? (PROTOCOLS[value.toLowerCase()] ?? wholeNumber(value)) : value;
		return number !== undefined && Number.isInteger(number) && number >= 0 && number <= 255
			? number
			: undefined;
	},
);
const mark = parsed<string | { value: number; mask: number }, { value: number; mask: number }>(
	'VALUE or VALUE/MASK, each a 32-bit number such as 0x10',
	(value) => {
		const [first, second] =
			typeof value === 'string' ? value.split('/', 2).map(wholeNumber) : [value?.value, value?.mask];
		const mask = typeof value === 'string' && !value.includes('/') ? 0xffff_ffff : second;
		return isU32(first) && isU32(mask) ? { value: first, mask } : undefined;
	},
);
const cidr = parsed<string, string>('an address or a network such as 10.0.0.0/8 or fd00::/8', (value) => {
	const [address = '', length] = String(value).split('/', 2);
	const family = isIP(address);
	if (family === 0) return undefined;
	const bits = length === undefined ? (family === 4 ? 32 : 128) : wholeNumber(length);
	return bits !== undefined && bits <= (isIPv4(address) ? 32 : 128) ? `${address}/${bits}` : undefined;
});
const url = parsed<string, Target>(TARGET_SYNTAX, (value) =>
	typeof value === 'string' ? parseTarget(value) : undefined,
);
const endpoint = parsed<string, { host: string; port: number }>('HOST:PORT', (value) =>
	typeof value === 'string' ? parseEndpoint(value) : undefined,
);

/** `numbers`: whether a bare number is taken as milliseconds, as only JavaScript may write it. */
function schema(numbers: boolean) {
	const expected = numbers ? `${DURATION_SYNTAX}, or milliseconds as a number` : DURATION_SYNTAX;
	const duration = parsed<DurationInput, number>(expected, (value) => {
		if (typeof value === 'number') return numbers ? checkMilliseconds(value) : undefined;
		return typeof value === 'string' ? parseDuration(value) : undefined;
	});
	const reconnect = z.strictObject(
		{ initial: duration.optional(), max: duration.optional() },
		{ error: 'an object with initial and max' },
	);
	const rotate = z.strictObject(
		{ size: integer(65_536, Number.MAX_SAFE_INTEGER).optional(), interval: duration.optional() },
		{ error: 'an object with size or interval' },
	);
	const collector = z.strictObject(
		{
			/** `tcp://`, `udp://` (port 4739), `tls://` (port 4740) or `file:PATH`. */
			url,
			/** How the collector is called in logs, metrics and `/status`. Default: its URL with the port. */
			name: text('a name').optional(),
			/** Certificate authorities that the collector's certificate must come from: a PEM file, or PEM text. */
			ca: text('a PEM file').optional(),
			/** The agent's own certificate chain: a PEM file, or PEM text. */
			cert: text('a PEM file').optional(),
			/** The private key of `cert`: a PEM file, or PEM text. */
			key: text('a PEM file').optional(),
			/** Revoked certificates: a PEM file, or PEM text. */
			crl: text('a PEM file').optional(),
			/** Name that the collector's certificate must bear. Default: the host of the URL. */
			serverName: text('a host name').optional(),
			/** Oldest TLS version accepted. Default: TLSv1.2. */
			minVersion: choice('TLSv1.2', 'TLSv1.3').optional(),
			/** Not for files: longest wait for one address to accept. Default: 10 s. */
			connectTimeout: duration.optional(),
			/** TCP and TLS: a session on which octets wait this long without progress is closed. Default: 30 s. */
			stallTimeout: duration.optional(),
			/** Delay before the next attempt: `initial` (1 s), doubled up to `max` (60 s), with jitter. */
			reconnect: reconnect.optional(),
			/** UDP: templates are sent again after this time (RFC 6728: 600 s) … */
			templateRefresh: duration.optional(),
			/** … and after this many packets (RFC 5153 section 6.2: 20). */
			templateRefreshPackets: integer(1, 0xffff_ffff).optional(),
			/** Octets of a message, header included. Default: 65,535; over UDP what the path takes, at most 1,500 a packet (antrea: 1,024). */
			maxMessageSize: integer(256, 65535).optional(),
			/** Whether options records (statistics, types of private elements) are sent. Default: true. */
			options: flag().optional(),
			/** File: a new one is begun at this size (octets) or age. Default: never. */
			rotate: rotate.optional(),
			/** File: how often written octets are forced to the disk. Default: 5 s. */
			flushInterval: duration.optional(),
		},
		{ error: `${TARGET_SYNTAX}, or an object with url` },
	);

	return z.strictObject(
		{
			/** Where records go. Default: nowhere (`run` then prints them). */
			collectors: list(
				z.preprocess((value) => (typeof value === 'string' ? { url: value } : value), collector),
				'a list of collectors',
			).optional(),
			/** For the tls:// collectors that do not say otherwise; an error where there is none. */
			tlsCa: text('a PEM file').optional(),
			tlsCert: text('a PEM file').optional(),
			tlsKey: text('a PEM file').optional(),
			tlsServerName: text('a host name').optional(),
			/** `failover`: the first healthy collector in order; `all`: every one. Default: failover. */
			delivery: choice('failover', 'all').optional(),
			/** Which elements records have. Default: standard. */
			profile: choice('standard', 'antrea').optional(),
			/** Elements by name, in order, instead of the standard profile's. */
			fields: list(text('an element name'), 'a list of element names').optional(),
			/** `poll`: read the whole table each interval; `events`: listen, look up before a deadline. Default: poll. */
			source: choice('poll', 'events').optional(),
			/** With events: how often the whole table is read all the same. Default: 5 min. */
			resyncInterval: duration.optional(),
			/** Octets of the event socket's receive buffer. Default: 8 MiB. */
			eventBufferSize: integer(4096, 1_073_741_824).optional(),
			/** Only these conntrack zones (0 is zone 0 only). Default: all. */
			zones: list(u16, 'a list of zones').optional(),
			/** Default: both. */
			families: list(choice('ipv4', 'ipv6'), 'a list of ipv4 and ipv6')
				.min(1, { error: 'at least one of ipv4 and ipv6' })
				.optional(),
			/** Only these protocols. Default: all. */
			protocols: list(protocol, 'a list of protocols').min(1, { error: 'at least one protocol' }).optional(),
			/** Only connections with (mark & MASK) == VALUE. */
			mark: mark.optional(),
			/** Networks: a connection with either end inside is left out. */
			exclude: list(cidr, 'a list of networks').optional(),
			/** Whether the agent's own sessions to its collectors are exported too. Default: false. */
			includeOwn: flag().optional(),
			/** Network namespace to read: a path, a name (of `ip netns`) or a process id. Default: the agent's. */
			netns: parsed<string | number, string>('a path, a name or a process id', (value) =>
				typeof value === 'number'
					? String(value)
					: typeof value === 'string' && value !== ''
						? value
						: undefined,
			).optional(),
			/** How often the table is read. At least 100 ms. Default: 5 s. */
			pollInterval: duration.optional(),
			/** A long-lived connection is reported this often. Default: 60 s (antrea: 5 s). */
			activeTimeout: duration.optional(),
			/** A connection whose counters rest this long is reported. Default: 15 s. */
			idleTimeout: duration.optional(),
			/** An ended connection that could not be exported for this long is given up and counted. Default: 5 min. */
			staleTimeout: duration.optional(),
			/** Default: twice the kernel's maximum, at least 65,536, at most 1,000,000. */
			maxConnections: integer(1, 0xffff_fffe).optional(),
			/** What a full table does with one more connection. Default: reject-new. */
			whenFull: choice('reject-new', 'evict-idle').optional(),
			/** First delta of a connection older than the agent. Default: zero. */
			initialDelta: choice('zero', 'total').optional(),
			/** File in which exported counters outlive the agent. */
			stateFile: text('a path').optional(),
			/** Observation domain of flow records. Default: 1 (antrea: from the node's name). */
			observationDomain: u32.optional(),
			/** Address of the metrics server. Port 0 takes a free one. */
			metrics: endpoint.optional(),
			logLevel: choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent').optional(),
			/** Default: pretty on a terminal, json elsewhere. */
			logFormat: choice('json', 'pretty').optional(),
			/** Greatest part of the time that polls may take, above 0, at most 1. Default: 0.2. */
			maxPollShare: parsed<number, number>('a number above 0, at most 1', (value) =>
				typeof value === 'number' && value > 0 && value <= 1 ? value : undefined,
			).optional(),
			/** Octets that may be unsettled on one session. Default: 4 MiB. */
			window: integer(65_536, 1_073_741_824).optional(),
			/** Records of one batch, at most. Default: 1,024. */
			batchRecords: integer(1, 65_535).optional(),
			/** A dump without any progress for this long is incomplete. Default: 5 s. */
			pollRetryTimeout: duration.optional(),
			/** How long `stop()` waits for what is unsettled. Default: 5 s. */
			gracePeriod: duration.optional(),
			/** Antrea: the uplink is part of the bridge, which moves its zones. */
			connectUplinkToBridge: flag().optional(),
			/** Pods that connections' ends are named by, until `setPods`. Default: none, and no elements for them in the standard profile. */
			pods: podsSchema.optional(),
		},
		{ error: 'an object of options' },
	);
}

const schemas = new Map<string, ReturnType<typeof schema>>();

export function schemaFor(origin: 'javascript' | 'text') {
	const made = schemas.get(origin) ?? schema(origin === 'javascript');
	schemas.set(origin, made);
	return made;
}

export type Parsed = z.output<ReturnType<typeof schema>>;
export type ParsedCollector = NonNullable<Parsed['collectors']>[number];
/** What `new FlowExporter()` takes, `signal` aside. */
export type OptionsInput = z.input<ReturnType<typeof schema>>;
/** A collector in JavaScript or YAML: its URL, or an object. */
export type CollectorInput = NonNullable<OptionsInput['collectors']>[number];

function wholeNumber(value: string): number | undefined {
	return /^(\d+|0x[\da-f]+)$/i.test(value) ? Number(value) : undefined;
}

function isU32(value: unknown): value is number {
	return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;
}
