/**
 * Collectors as the sessions take them: what was given, what the TLS options add, and the defaults.
 *
 * Data enters as `ParsedCollector` and leaves as `CollectorSettings`. An option that the collector's transport does not
 * use is an error: somebody who gives authorities and writes `tcp://` would otherwise send in the clear.
 */
import { resolve } from 'node:path';
import { OptionError } from '../errors.ts';
import { check, duration, type NameOf, object } from './checks.ts';
import { type CollectorRow, collectorTable, type ParsedCollector } from './collector_table.ts';
import { isFolder } from './folder.ts';
import type { Parsed } from './table.ts';
import { formatTarget, type Target } from './target.ts';

type Defaulted =
	| 'minVersion'
	| 'connectTimeout'
	| 'stallTimeout'
	| 'templateRefresh'
	| 'templateRefreshPackets'
	| 'flushInterval';

/** One collector with everything set. Times in milliseconds. */
export type CollectorSettings = Omit<
	ParsedCollector,
	'url' | 'name' | 'options' | 'reconnect' | Defaulted
> & {
	[K in 'name' | 'options' | Defaulted]: NonNullable<ParsedCollector[K]>;
} & { target: Target; reconnect: { initial: number; max: number } };

export const COLLECTOR_ROWS: Readonly<Record<string, CollectorRow>> = collectorTable(duration(false));

const DEFAULTS = check(
	object(
		Object.fromEntries(Object.entries(COLLECTOR_ROWS).map(([name, { schema }]) => [name, schema])),
		'defaults',
	),
	Object.fromEntries(Object.entries(COLLECTOR_ROWS).map(([name, row]) => [name, row.default])),
	(path) => path.join('.'),
) as Pick<CollectorSettings, Defaulted>;
const RECONNECT = { initial: 1_000, max: 60_000 };

/** Octets of the flow aggregator's receive buffer over UDP: it ends in a panic when a longer message is cut there. */
const AGGREGATOR_DATAGRAM = 1_024;

const FOR_TLS = ['tlsCa', 'tlsCert', 'tlsKey', 'tlsServerName'] as const;

/** Whether a collector of this kind uses the option. */
export function isUsedBy(option: string, kind: Target['kind']): boolean {
	return COLLECTOR_ROWS[option]?.usedBy?.includes(kind) ?? true;
}

/** `raw`: the options as they were given, for complaints to quote. Throws `OptionError`. */
export function collectorSettings(
	given: Pick<Parsed, 'collectors' | 'profile' | (typeof FOR_TLS)[number]>,
	raw: Readonly<Record<string, unknown>>,
	nameOf: NameOf,
): CollectorSettings[] {
	const { collectors = [], tlsCa: ca, tlsCert: cert, tlsKey: key, tlsServerName: serverName } = given;
	for (const option of FOR_TLS) {
		if (given[option] !== undefined && !collectors.some(({ url }) => url.kind === 'tls'))
			throw new OptionError(nameOf([option]), given[option], 'a tls:// collector');
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
			if (!isUsedBy(option, target.kind)) refuse([option], rawOf(option), expectedFor(option));
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
			...withoutUndefined(DEFAULTS),
			name,
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

/** Where each of a collector's options came from; `origins` are those of the exporter's options. */
export function originsOf(
	settings: CollectorSettings,
	own: object,
	given: Pick<Parsed, 'profile' | (typeof FOR_TLS)[number]>,
	origins: Readonly<Record<string, string>>,
): Record<string, string> {
	const { collectors = 'default' } = origins;
	const originOf = (option: string) => {
		if (option in own) return collectors;
		const forTls = FOR_TLS.find((name) => name.toLowerCase() === `tls${option}`.toLowerCase());
		if (forTls !== undefined && given[forTls] !== undefined) return origins[forTls] ?? collectors;
		const ofProfile = option === 'options' || option === 'maxMessageSize';
		return ofProfile && given.profile === 'antrea' ? 'profile antrea' : 'default';
	};
	const options = Object.keys(settings).filter((option) => option !== 'target');
	return { url: collectors, ...Object.fromEntries(options.map((option) => [option, originOf(option)])) };
}

/** `a tls:// collector`: what an option needs. */
function expectedFor(option: string): string {
	const kinds = COLLECTOR_ROWS[option]?.usedBy ?? [];
	const texts = kinds.map((kind) => (kind === 'file' ? 'file:' : `${kind}://`));
	return `a ${texts.join(' or ')} collector`;
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
