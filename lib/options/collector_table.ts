/** The options of one collector: one row each, from which their schema, the printed configuration and the README's table follow. */
import { z } from 'zod';
import type { CollectorTarget } from '../types.ts';
import { choice, type DurationCheck, integer, object, pem, text, truth } from './checks.ts';
import type { Row } from './row.ts';
import { TARGET_SYNTAX, type Target } from './target.ts';
import { url } from './values.ts';

export interface CollectorRow extends Row {
	/** The transports that use it; absent: all. */
	usedBy?: ReadonlyArray<Target['kind']>;
}

const TLS = ['tls'] as const;
const FILE = ['file'] as const;

export const collectorTable = (duration: DurationCheck) =>
	({
		url: {
			schema: url,
			meaning: '`tcp://HOST[:4739]`, `udp://HOST[:4739]`, `tls://HOST[:4740]` or `file:PATH`',
		},
		name: { schema: text('a name'), defaultText: 'its URL', meaning: 'in logs, metrics and `/status`' },
		ca: {
			schema: pem(),
			usedBy: TLS,
			meaning:
				"authorities that the collector's certificate comes from: a PEM file, or PEM text; files are watched for changes",
		},
		cert: { schema: pem(), usedBy: TLS, meaning: "the agent's certificate chain: a PEM file, or PEM text" },
		key: { schema: pem(), usedBy: TLS, meaning: 'its private key: a PEM file, or PEM text' },
		crl: { schema: pem(), usedBy: TLS, meaning: 'revoked certificates: a PEM file, or PEM text' },
		serverName: {
			schema: text('a host name'),
			usedBy: TLS,
			defaultText: "the URL's host",
			meaning: "name that the collector's certificate must bear",
		},
		minVersion: {
			schema: choice('TLSv1.2', 'TLSv1.3'),
			usedBy: TLS,
			default: 'TLSv1.2',
			meaning: 'oldest version: `TLSv1.2` or `TLSv1.3`',
		},
		connectTimeout: {
			schema: duration,
			usedBy: ['tcp', 'tls', 'udp'],
			default: '10s',
			meaning: 'longest wait for one address',
		},
		stallTimeout: {
			schema: duration,
			usedBy: ['tcp', 'tls'],
			default: '30s',
			meaning: 'octets that wait this long without progress end the connection',
		},
		reconnect: {
			schema: object({ initial: duration, max: duration }, 'an object with initial and max'),
			defaultText: '`1s`, `60s`',
			parts: '{ initial, max }',
			meaning: 'first and longest wait before the next attempt; `max` no shorter than `initial`',
		},
		templateRefresh: {
			schema: duration,
			usedBy: ['udp'],
			default: '10m',
			meaning: 'templates are sent again after this time …',
		},
		templateRefreshPackets: {
			schema: integer(1, 0xffff_ffff),
			usedBy: ['udp'],
			default: 20,
			meaning: '… and after this many packets',
		},
		maxMessageSize: {
			schema: integer(256, 65_535),
			defaultText: '65,535; over UDP what the path takes, with antrea 1,024',
			meaning: 'octets of a message, at most',
		},
		options: {
			schema: truth(),
			defaultText: 'yes; no with antrea',
			meaning: 'options records: statistics, types of private elements',
		},
		rotate: {
			schema: object(
				{ size: integer(65_536, Number.MAX_SAFE_INTEGER), interval: duration },
				'an object with size or interval',
			),
			usedBy: FILE,
			parts: '{ size, interval }',
			defaultText: 'never',
			meaning: 'when a new one is begun; `size` in octets, at least 65,536',
		},
		flushInterval: {
			schema: duration,
			usedBy: FILE,
			default: '5s',
			meaning: 'how often it is forced to the disk',
		},
	}) satisfies Record<keyof CollectorTarget, CollectorRow>;

export type CollectorTable = ReturnType<typeof collectorTable>;

type Required_<T, K extends keyof T> = Omit<T, K> & { [P in K]-?: Exclude<T[P], undefined> };
type Shape = { [K in keyof CollectorTable]: CollectorTable[K]['schema'] };
/** What a collector's object may hold: `url` is required. */
export type CollectorShapeInput = Required_<{ [K in keyof Shape]?: z.input<Shape[K]> | undefined }, 'url'>;
/** A collector that was checked: times in milliseconds, nothing filled in. */
export type ParsedCollector = Required_<{ [K in keyof Shape]?: z.output<Shape[K]> | undefined }, 'url'>;

/** A URL stands for an object with nothing else. */
export function collectorSchema(
	duration: DurationCheck,
): z.ZodType<ParsedCollector, string | CollectorShapeInput> {
	const table = collectorTable(duration);
	const shape = Object.fromEntries(Object.entries(table).map(([name, { schema }]) => [name, schema]));
	const schema = object(shape, `${TARGET_SYNTAX}, or an object with url`, 'url');
	return z.preprocess(
		(value) => (typeof value === 'string' ? { url: value } : value),
		schema,
	) as unknown as z.ZodType<ParsedCollector, string | CollectorShapeInput>;
}
