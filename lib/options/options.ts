/**
 * Options of the exporter from all their places, made into `Settings`.
 *
 * Data enters as layers of raw values (`Layer`) and leaves as `Settings`, in which every value is set, in milliseconds or
 * plain numbers, and within its bounds, and as `Origins`, which say where each came from. Read those types first.
 */
import { hostname } from 'node:os';
import type { z } from 'zod';
import { OptionError } from '../errors.ts';
import { canName, expectedFields } from '../names/elements.ts';
import { NAMES_KINDS } from '../names/sets.ts';
import { check, duration, type NameOf, object, pathText } from './checks.ts';
import { formatDuration } from './duration.ts';
import type { OptionRow } from './row.ts';
import { type Defaulted, type OptionName, optionTable, type Parsed } from './table.ts';
import { type CollectorSettings, collectorSettings, originsOf, withoutUndefined } from './target_settings.ts';
import { wrongFields } from './values.ts';

export type { CollectorSettings } from './target_settings.ts';

type ForTls = 'tlsCa' | 'tlsCert' | 'tlsKey' | 'tlsServerName';
/** Every option of the exporter with its value. Times in milliseconds. */
export type Settings = Omit<Parsed, Defaulted | 'collectors' | ForTls> & {
	[K in Defaulted]: NonNullable<Parsed[K]>;
} & { collectors: CollectorSettings[] };

/** Where the value of each option comes from, in words: `flag --zone`, `profile antrea`, `default`, `derived: the poll interval`. */
export type Origins = Readonly<Record<string, string>>;

export interface Resolved {
	settings: Settings;
	origins: Origins;
	/** Of each collector's options, in the order of the collectors. */
	collectorOrigins: readonly Origins[];
}

/** Raw values from one place, and how an option is called there. */
export interface Layer {
	values: object;
	/** For complaints. */
	nameOf(option: string): string;
	/** For `--print-config`: `flag --zone`. Absent: options of a program. */
	originOf?(option: string): string;
}

export type Kind = 'javascript' | 'text';

const tables = {
	javascript: optionTable(duration(true)),
	text: optionTable(duration(false)),
};
/** The rows for what is not a program: their defaults have units. */
export const ROWS: Readonly<Record<OptionName, OptionRow>> = tables.text;

/** Those of the selection stand for `dump`. */
const schemas = {
	javascript: { all: schemaOf(tables.javascript), selection: schemaOf(selected(tables.javascript)) },
	text: { all: schemaOf(tables.text), selection: schemaOf(selected(tables.text)) },
};

function schemaOf(table: Partial<Record<OptionName, OptionRow>>): z.ZodType<Parsed> {
	const shape = Object.fromEntries(Object.entries(table).map(([name, { schema }]) => [name, schema]));
	return object(shape, 'an object of options') as z.ZodType<Parsed>;
}

function selected(table: Record<OptionName, OptionRow>): Partial<Record<OptionName, OptionRow>> {
	return Object.fromEntries(Object.entries(table).filter(([, { selection }]) => selection === true));
}

/** One of which is asked for where the other one was given. */
const NEEDED_TOGETHER: Readonly<Partial<Record<string, string>>> = { tlsCert: 'tlsKey', tlsKey: 'tlsCert' };
/** The core's, which keeps each zone apart. */
const MAX_ZONES = 200;
const FOLLOWING = ['activeTimeout', 'idleTimeout'] as const;

/**
 * Merges the layers, the later ones winning option by option, checks the result and fills in the profile's and
 * the general defaults. Throws `OptionError` for the first option that cannot be used.
 */
export function resolveOptions(layers: readonly Layer[], kind: Kind): Settings {
	return resolveWithOrigins(layers, kind).settings;
}

/** The same for `dump`, which knows no option but those of the selection. */
export function resolveSelection(layers: readonly Layer[], kind: Kind): Settings {
	return resolveWithOrigins(layers, kind, 'selection').settings;
}

export function resolveWithOrigins(
	layers: readonly Layer[],
	kind: Kind,
	which: 'all' | 'selection' = 'all',
): Resolved {
	// Without a prototype: `__proto__` is a wrong name like others.
	const merged: Record<string, unknown> = Object.create(null);
	const names = new Map<string, string>();
	const origins: Record<string, string> = {};
	for (const layer of layers) {
		for (const [option, value] of Object.entries(layer.values)) {
			if (value === undefined) continue;
			merged[option] = value;
			names.set(option, layer.nameOf(option));
			const other = NEEDED_TOGETHER[option];
			if (other !== undefined && !names.has(other)) names.set(other, layer.nameOf(other));
			origins[option] = layer.originOf?.(option) ?? 'options';
		}
	}
	const nameOf: NameOf = (path) => pathText(path, (option) => names.get(option) ?? option);
	const given = withoutUndefined(check(schemas[kind][which], merged, nameOf));
	const { collectors, tlsCa, tlsCert, tlsKey, tlsServerName, ...rest } = given;
	const profile = rest.profile === 'antrea' ? antreaDefaults(rest) : {};
	const unfollowed = { ...DEFAULTS, ...profile, ...rest };
	const followed = FOLLOWING.filter(
		(option) => rest[option] === undefined && unfollowed[option] < unfollowed.pollInterval,
	);
	const settings: Settings = {
		...unfollowed,
		...Object.fromEntries(followed.map((option) => [option, unfollowed.pollInterval])),
		collectors: collectorSettings(given, merged, nameOf),
	};
	for (const option of Object.keys(settings)) {
		if (followed.some((other) => other === option)) origins[option] = 'derived: the poll interval';
		else if (origins[option] === undefined)
			origins[option] = option in profile ? 'profile antrea' : 'default';
	}
	checkBounds(settings, merged, nameOf);
	const collectorOrigins = settings.collectors.map((collector, index) =>
		originsOf(collector, collectors?.[index] ?? {}, given, origins),
	);
	return { settings, origins, collectorOrigins };
}

/** Programs without a compiler pass anything. */
export function checkObject(options: unknown): void {
	if (typeof options !== 'object' || options === null || Array.isArray(options))
		throw new OptionError('options', options, 'an object of options');
}

/** As they are given, so that they pass the same checks. */
const DEFAULTS = withoutUndefined(
	check(
		schemas.text.all,
		{
			...Object.fromEntries(Object.entries(ROWS).map(([name, row]) => [name, row.default])),
			zones: [],
			families: ['ipv4', 'ipv6'],
			exclude: [],
			podNetworks: [],
		},
		(path) => path.join('.'),
	),
) as Pick<Settings, Defaulted>;

function checkBounds(settings: Settings, raw: Record<string, unknown>, nameOf: NameOf): void {
	const fail = (option: OptionName, expected: string, ...inside: number[]): never => {
		const got = raw[option] as unknown[] | undefined;
		const [place] = inside;
		throw new OptionError(nameOf([option, ...inside]), place === undefined ? got : got?.[place], expected);
	};
	if (settings.pollInterval < 100) fail('pollInterval', 'at least 100ms');
	if (settings.zones.length > MAX_ZONES) fail('zones', `at most ${MAX_ZONES} zones, or none to export all`);
	if (settings.profile === 'antrea' && settings.zones.length === 0)
		fail('zones', "at least one zone, or none given for the antrea profile's own");
	if (settings.fields !== undefined) {
		if (settings.profile === 'antrea')
			fail('fields', 'the standard profile beside it: the antrea profile has elements of its own');
		const wrong = wrongFields(settings.fields);
		if (wrong?.place !== undefined) fail('fields', wrong.expected, wrong.place);
		if (wrong !== undefined) fail('fields', wrong.expected);
	}
	for (const kind of NAMES_KINDS)
		if (settings[kind] !== undefined && !canName(kind, settings)) fail('fields', expectedFields(kind));
	for (const option of FOLLOWING) {
		if (settings[option] < settings.pollInterval)
			fail(option, `at least the poll interval, ${formatDuration(settings.pollInterval)}`);
	}
}

function antreaDefaults(given: Parsed) {
	const families = given.families ?? DEFAULTS.families;
	const [ipv4, ipv6] = given.connectUplinkToBridge ? [4096, 12_288] : [65_520, 65_510];
	const { NODE_NAME } = process.env;
	return {
		activeTimeout: 5_000,
		observationDomain: fnv1(given.nodeName ?? NODE_NAME ?? hostname()),
		serviceMark: { value: 0x10, mask: 0x10 },
		zones: families.map((family) => (family === 'ipv4' ? ipv4 : ipv6)),
	};
}

/** FNV-1, 32 bits (not 1a), of the UTF-8 octets. */
export function fnv1(name: string): number {
	let hash = 0x811c_9dc5;
	for (const octet of Buffer.from(name)) hash = (Math.imul(hash, 0x0100_0193) ^ octet) >>> 0;
	return hash;
}
