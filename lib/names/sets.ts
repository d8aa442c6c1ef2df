/**
 * Sets of names, as lists or as files. Lists enter raw, through the options or a setter, and are checked by the core alone, which keeps them;
 * what is wrong comes back with its path. Read `checkedSet` first.
 */
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { z } from 'zod';
import { type NativeNames, native } from '../core/native.ts';
import { AgentError, messageOf, OptionError } from '../errors.ts';
import { didYouMean } from '../options/nearest.ts';
import { holdsPrivateKey } from '../options/secrets.ts';

export const NAMES_KINDS = ['pods', 'services', 'policyRules', 'networks'] as const;
export type NamesKind = (typeof NAMES_KINDS)[number];

/** A list, or the path of a file that holds it. */
export type NamesSource<T> = readonly T[] | string;

/** What is wrong with a list, and where. */
interface Wrong {
	path: Array<string | number>;
	got: unknown;
	expected: string;
}

/** Lists that are options were checked with them. */
const checkedLists = new WeakMap<object, NativeNames>();

/** A list of names in the options, or a file, which is read at the start. */
export const namesSchema = <T>(kind: NamesKind) =>
	z.custom<NamesSource<T>>().transform((source, context): NamesSource<T> => {
		if (typeof source === 'string' && source !== '' && !holdsPrivateKey(source)) return source;
		const set = setOf(kind, jsonOf(source), 'json', source);
		if (!('path' in set)) {
			if (typeof source === 'object') checkedLists.set(source, set);
			return source;
		}
		const { path, got, expected } = set;
		context.addIssue({ code: 'custom', path, input: got, message: expected });
		return z.NEVER;
	});

/** The core's set of a list. Throws `OptionError` for the first thing in it that cannot be used. */
export function checkedSet(kind: NamesKind, list: unknown): NativeNames {
	const known = typeof list === 'object' && list !== null ? checkedLists.get(list) : undefined;
	const set = known ?? setOf(kind, jsonOf(list), 'json', list);
	if ('path' in set) throw new OptionError(kind + pathText(set.path), set.got, set.expected);
	return set;
}

/** What a file says that names are read from: its text, and the core's set of it. Throws `AgentError` (`ERR_CONFIG`). */
export async function fileSet(kind: NamesKind, path: string, known?: string) {
	const refuse = (why: string, cause?: unknown) =>
		new AgentError('ERR_CONFIG', `${kind} of file ${path}: ${why}`, { cause });
	const text = await readFile(path, 'utf8').catch((cause: unknown) => {
		throw refuse(messageOf(cause), cause);
	});
	if (text === known) return { text };
	const csv = kind === 'networks' && extname(path).toLowerCase() === '.csv';
	const list = csv ? undefined : await parsedList(text, refuse);
	const set = csv ? setOf(kind, text, 'csv', text) : setOf(kind, jsonOf(list), 'json', list);
	if ('path' in set) {
		const { message } = new OptionError(kind + pathText(set.path), set.got, set.expected);
		throw refuse(message);
	}
	return { text, set };
}

/** JSON is YAML too, and its parser is forty times as quick. */
async function parsedList(text: string, refuse: (why: string, cause?: unknown) => Error): Promise<unknown> {
	try {
		return JSON.parse(text);
	} catch {
		const { parseDocument } = await import('yaml');
		const document = parseDocument(text, { logLevel: 'silent' });
		try {
			const [wrong] = document.errors;
			if (wrong !== undefined) throw wrong;
			return document.toJS();
		} catch (cause) {
			throw refuse(`it is neither JSON nor YAML: ${messageOf(cause)}`, cause);
		}
	}
}

function setOf(kind: NamesKind, text: string, format: 'json' | 'csv', input: unknown): NativeNames | Wrong {
	const set = new (native().NativeNames)(kind, text, format);
	const { wrong } = set;
	if (wrong === null) return set;
	const { keys, got, expected, choices } = wrong;
	const near = choices.length === 0 ? '' : didYouMean(String(keys.at(-1)), choices);
	return { path: keys, got: got ?? valueAt(input, keys), expected: expected + near };
}

function valueAt(input: unknown, keys: ReadonlyArray<string | number>): unknown {
	return keys.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], input);
}

function pathText(path: ReadonlyArray<string | number>): string {
	const text = (key: string) => (key.startsWith('line ') ? ` ${key}` : `.${key}`);
	return path.map((key) => (typeof key === 'number' ? `[${key}]` : text(key))).join('');
}

/** What JSON cannot say is left out: the core misses it, and says where. */
function jsonOf(list: unknown): string {
	try {
		return JSON.stringify(list) ?? 'null';
	} catch {
		return JSON.stringify(list, sayable()) ?? 'null';
	}
}

function sayable() {
	const above: unknown[] = [];
	return function (this: unknown, _key: string, value: unknown) {
		while (above.length > 0 && above.at(-1) !== this) above.pop();
		if (typeof value === 'bigint' || above.includes(value)) return null;
		if (typeof value === 'object' && value !== null) above.push(value);
		return value;
	};
}
