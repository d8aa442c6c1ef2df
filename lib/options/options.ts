/**
 * Options: one schema for the JavaScript API, the YAML file, the environment and the flags.
 *
 * Data enters as layers of raw values (`Layer`) and leaves as `Settings`, in which every value is set, in
 * milliseconds or plain numbers, and within its bounds. Read those two types first.
 */

import { hostname } from 'node:os';
import type { z } from 'zod';
import { OptionError } from '../errors.ts';
import { EXPECTED_FIELDS, haveNames, type Pod, podsSchema } from '../names/pods.ts';
import { type Parsed, schemaFor } from './schema.ts';
import { type CollectorSettings, collectorSettings, withoutUndefined } from './target_settings.ts';

export type { Pod, PodInput } from '../names/pods.ts';
export type { CollectorInput, DurationInput, OptionsInput } from './schema.ts';
export type { CollectorSettings } from './target_settings.ts';

type Required_<T, K extends keyof T> = { [P in K]-?: NonNullable<T[P]> };

type Defaulted = keyof typeof DEFAULTS | 'observationDomain';
/** Every option of the exporter with its value. Times in milliseconds. */
export type Settings = Omit<
	Parsed,
	Defaulted | 'collectors' | 'tlsCa' | 'tlsCert' | 'tlsKey' | 'tlsServerName'
> &
	Required_<Parsed, Defaulted> & { collectors: CollectorSettings[] };

const DEFAULTS = {
	delivery: 'failover',
	profile: 'standard',
	source: 'poll',
	resyncInterval: 300_000,
	eventBufferSize: 8 * 1024 * 1024,
	zones: [] as number[],
	families: ['ipv4', 'ipv6'] as Array<'ipv4' | 'ipv6'>,
	exclude: [] as string[],
	includeOwn: false,
	pollInterval: 5_000,
	activeTimeout: 60_000,
	idleTimeout: 15_000,
	staleTimeout: 300_000,
	whenFull: 'reject-new',
	initialDelta: 'zero',
	logLevel: 'info',
	maxPollShare: 0.2,
	window: 4 * 1024 * 1024,
	batchRecords: 1024,
	pollRetryTimeout: 5_000,
	gracePeriod: 5_000,
	connectUplinkToBridge: false,
} satisfies Partial<Parsed>;

/** Raw values from one place, and how an option is called there. */
export interface Layer {
	values: Readonly<Record<string, unknown>>;
	nameOf(option: string): string;
}

/**
 * Merges the layers, the later ones winning option by option, checks the result and fills in the profile's and
 * the general defaults. Throws `OptionError` for the first option that cannot be used.
 */
export function resolveOptions(layers: readonly Layer[], origin: 'javascript' | 'text'): Settings {
	const merged: Record<string, unknown> = {};
	const names = new Map<string, string>();
	for (const layer of layers) {
		for (const [option, value] of Object.entries(layer.values)) {
			if (value === undefined) continue;
			merged[option] = value;
			names.set(option, layer.nameOf(option));
		}
	}
	const nameOf = (path: readonly PropertyKey[]): string =>
		pathText(path, (option) => names.get(option) ?? option);
	const given = withoutUndefined(checked(schemaFor(origin), merged, nameOf));
	const { collectors, tlsCa, tlsCert, tlsKey, tlsServerName, ...rest } = given;
	const profile = rest.profile === 'antrea' ? antreaDefaults(rest) : { observationDomain: 1 };
	const settings: Settings = {
		...DEFAULTS,
		...profile,
		...rest,
		collectors: collectorSettings(given, merged, nameOf),
	};
	checkBounds(settings, merged, nameOf);
	return settings;
}

/** A list for `setPods`, checked as the option `pods` is. Throws `OptionError` for the first thing that cannot be used. */
export function resolvePods(pods: unknown): Pod[] {
	return checked(podsSchema, pods, (path) => pathText(['pods', ...path], (option) => option));
}

function pathText(path: readonly PropertyKey[], nameOf: (option: string) => string): string {
	return path.reduce<string>((name, key, depth) => {
		if (depth === 0) return nameOf(String(key));
		return typeof key === 'number' ? `${name}[${key}]` : `${name}.${String(key)}`;
	}, '');
}

function checked<T extends z.ZodType>(
	schema: T,
	value: unknown,
	nameOf: (path: readonly PropertyKey[]) => string,
): z.output<T> {
	const outcome = schema.safeParse(value, { reportInput: true });
	if (outcome.success) return outcome.data;
	const issue = outcome.error.issues[0];
	if (issue?.code === 'unrecognized_keys') {
		const path = nameOf([...issue.path, issue.keys[0] ?? '']);
		throw new OptionError(
			path,
			(issue.input as Record<string, unknown> | undefined)?.[issue.keys[0] ?? ''],
			'no option of this name',
		);
	}
	throw new OptionError(
		nameOf(issue?.path ?? []) || 'options',
		issue?.input,
		issue?.message ?? 'another value',
	);
}

function checkBounds(
	settings: Settings,
	raw: Record<string, unknown>,
	nameOf: (path: string[]) => string,
): void {
	const fail = (option: keyof Settings, expected: string): never => {
		throw new OptionError(nameOf([option]), raw[option] ?? `${settings[option]}ms`, expected);
	};
	if (settings.pollInterval < 100) fail('pollInterval', 'at least 100ms');
	if (settings.profile === 'antrea' && settings.zones.length === 0)
		fail('zones', "at least one zone, or none given for the antrea profile's own");
	if (settings.pods !== undefined && !haveNames(settings)) fail('fields', EXPECTED_FIELDS);
	for (const option of ['activeTimeout', 'idleTimeout'] as const) {
		if (settings[option] < settings.pollInterval)
			fail(option, `at least the poll interval, ${settings.pollInterval}ms`);
	}
}

function antreaDefaults(given: Parsed) {
	const families = given.families ?? DEFAULTS.families;
	const [ipv4, ipv6] = given.connectUplinkToBridge ? [4096, 12_288] : [65_520, 65_510];
	const { NODE_NAME } = process.env;
	return {
		activeTimeout: 5_000,
		observationDomain: fnv1(NODE_NAME ?? hostname()),
		zones: families.map((family) => (family === 'ipv4' ? ipv4 : ipv6)),
	};
}

/** FNV-1, 32 bits (not 1a), of the UTF-8 octets. */
export function fnv1(name: string): number {
	let hash = 0x811c_9dc5;
	for (const octet of Buffer.from(name)) hash = (Math.imul(hash, 0x0100_0193) ^ octet) >>> 0;
	return hash;
}
