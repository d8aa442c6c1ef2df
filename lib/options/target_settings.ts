/**
 * Collectors as the sessions take them: what was given, what the TLS options add, and the defaults.
 *
 * Data enters as `ParsedCollector` and leaves as `CollectorSettings`. An option that the collector's transport does not
 * use is an error: somebody who gives authorities and writes `tcp://` would otherwise send in the clear.
 */
import { resolve } from 'node:path';
import { OptionError } from '../errors.ts';
import { isFolder } from './folder.ts';
import { isPemText } from './pem.ts';
import type { Parsed, ParsedCollector } from './schema.ts';
import { formatTarget, type Target } from './target.ts';

type Required_<T, K extends keyof T> = { [P in K]-?: NonNullable<T[P]> };

/** One collector with everything set. Times in milliseconds. */
export interface CollectorSettings
	extends Pick<ParsedCollector, 'ca' | 'cert' | 'key' | 'crl' | 'serverName' | 'maxMessageSize' | 'rotate'>,
		Required_<
			ParsedCollector,
			| 'name'
			| 'minVersion'
			| 'connectTimeout'
			| 'stallTimeout'
			| 'templateRefresh'
			| 'templateRefreshPackets'
			| 'options'
			| 'flushInterval'
		> {
	target: Target;
	reconnect: { initial: number; max: number };
}

const DEFAULTS = {
	minVersion: 'TLSv1.2',
	connectTimeout: 10_000,
	stallTimeout: 30_000,
	templateRefresh: 600_000,
	templateRefreshPackets: 20,
	flushInterval: 5_000,
} as const;
const RECONNECT = { initial: 1_000, max: 60_000 };

/** Octets of the flow aggregator's receive buffer over UDP: it ends in a panic when a longer message is cut there. */
const AGGREGATOR_DATAGRAM = 1_024;

const TLS: readonly Target['kind'][] = ['tls'];
const STREAMS: readonly Target['kind'][] = ['tcp', 'tls'];
/** Which transports use an option. One that is not here is used by all; a file is opened again after `reconnect`, too. */
const USED_BY: Readonly<Partial<Record<keyof ParsedCollector, readonly Target['kind'][]>>> = {
	ca: TLS,
	cert: TLS,
	key: TLS,
	crl: TLS,
	serverName: TLS,
	minVersion: TLS,
	connectTimeout: ['tcp', 'tls', 'udp'],
	stallTimeout: STREAMS,
	templateRefresh: ['udp'],
	templateRefreshPackets: ['udp'],
	rotate: ['file'],
	flushInterval: ['file'],
};
const FOR_TLS = ['tlsCa', 'tlsCert', 'tlsKey', 'tlsServerName'] as const;

/** Whether a collector of this kind uses the option. */
export function isUsedBy(option: string, kind: Target['kind']): boolean {
	return USED_BY[option as keyof ParsedCollector]?.includes(kind) ?? true;
}

export type NameOf = (path: readonly PropertyKey[]) => string;

/** `raw`: the options as they were given, for complaints to quote. Throws `OptionError`. */
export function collectorSettings(
	given: Pick<Parsed, 'collectors' | 'profile' | (typeof FOR_TLS)[number]>,
	raw: Readonly<Record<string, unknown>>,
	nameOf: NameOf,
): CollectorSettings[] {
	const { collectors = [], tlsCa: ca, tlsCert: cert, tlsKey: key, tlsServerName: serverName } = given;
	for (const option of FOR_TLS) {
		if (given[option] !== undefined && !collectors.some(({ url }) => url.kind === 'tls'))
			throw new OptionError(nameOf([option]), quotable(given[option]), 'a tls:// collector');
	}
	const forTls = withoutUndefined({ ca, cert, key, serverName });
	return collectors.map((collector, index) => {
		const refuse = (path: string[], got: unknown, expected: string): never => {
			throw new OptionError(nameOf(['collectors', index, ...path]), got, expected);
		};
		const rawOf = (...path: string[]) =>
			path.reduce<unknown>(
				(value, part) => (value as Record<string, unknown> | undefined)?.[part],
				(raw['collectors'] as unknown[] | undefined)?.[index],
			);
		const { url: target, reconnect, ...own } = withoutUndefined(collector);
		const name = nameOfCollector(collector);
		if (index !== collectors.findIndex((other) => nameOfCollector(other) === name))
			refuse([], name, 'a name that no other collector has');
		for (const option of Object.keys(own)) {
			if (!isUsedBy(option, target.kind)) refuse([option], quotable(rawOf(option)), expectedFor(option));
		}
		if (target.kind === 'file' && isFolder(target.path))
			refuse(['url'], formatTarget(target), 'the path of a file, and this is a folder');
		if (index !== collectors.findIndex(({ url }) => isSameFile(url, target)))
			refuse(['url'], formatTarget(target), 'a path that no other collector writes to');
		const { initial = Math.min(RECONNECT.initial, reconnect?.max ?? RECONNECT.max), max } = reconnect ?? {};
		if (max !== undefined && max < initial) {
			refuse(
				['reconnect', 'max'],
				rawOf('reconnect', 'max'),
				`at least the first wait, which is ${JSON.stringify(rawOf('reconnect', 'initial'))}`,
			);
		}
		const settings: CollectorSettings = {
			name,
			...DEFAULTS,
			options: given.profile !== 'antrea',
			...(given.profile === 'antrea' && target.kind === 'udp' && { maxMessageSize: AGGREGATOR_DATAGRAM }),
			...(target.kind === 'tls' && forTls),
			...own,
			target,
			reconnect: { initial, max: max ?? Math.max(initial, RECONNECT.max) },
		};
		for (const [has, lacks] of [
			['cert', 'key'],
			['key', 'cert'],
		] as const) {
			if (settings[has] === undefined || settings[lacks] !== undefined) continue;
			if (own[has] !== undefined) refuse([lacks], undefined, `one, because ${has} is given`);
			const [given, missing] = has === 'cert' ? ['tlsCert', 'tlsKey'] : ['tlsKey', 'tlsCert'];
			throw new OptionError(nameOf([missing]), undefined, `one, because ${nameOf([given])} is given`);
		}
		return settings;
	});
}

/** `a tls:// collector`: what an option needs. */
function expectedFor(option: string): string {
	const kinds = USED_BY[option as keyof ParsedCollector] ?? [];
	const texts = kinds.map((kind) => (kind === 'file' ? 'file:' : `${kind}://`));
	return `a ${texts.join(' or ')} collector`;
}

/** A key given as text is nobody's to read. */
function quotable(value: unknown): unknown {
	return typeof value === 'string' && isPemText(value) ? '(PEM text)' : value;
}

/** Or the very same target. Links are not followed: the lock on the file finds those. */
function isSameFile(one: Target, other: Target): boolean {
	return (
		one === other ||
		(one.kind === 'file' && other.kind === 'file' && resolve(one.path) === resolve(other.path))
	);
}

function nameOfCollector(collector: ParsedCollector): string {
	return collector.name ?? formatTarget(collector.url);
}

export function withoutUndefined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
	return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as {
		[K in keyof T]: Exclude<T[K], undefined>;
	};
}
