/**
 * Options of a command from their three places. Precedence: flag, then environment, then file, option by option.
 * Texts become numbers, lists and truth values here; whether they are right is the schema's to say.
 */
import { readFile } from 'node:fs/promises';
import { AgentError, messageOf } from '../errors.ts';
import { nearest } from '../options/nearest.ts';
import { type Layer, type Resolved, resolveWithOrigins } from '../options/options.ts';
import type { FlagKind } from '../options/row.ts';
import { holdsPrivateKey } from '../options/secrets.ts';
import { FLAGS, splitList } from './flags.ts';

const ENVIRONMENT = 'CONNTRACK_IPFIX_';

/** Reads all places. Throws `OptionError`, or an error with code ERR_CONFIG when the file cannot be read. */
export async function loadSettings(
	flags: Readonly<Record<string, unknown>>,
	environment: NodeJS.ProcessEnv,
	more: Layer[] = [],
): Promise<Resolved> {
	const variable = environment[`${ENVIRONMENT}CONFIG`];
	const file = flags['config'] ?? (variable === '' ? undefined : variable);
	const layers: Layer[] = [];
	if (typeof file === 'string') layers.push(await fileLayer(file));
	layers.push(environmentLayer(environment), flagLayer(flags), ...more);
	return resolveWithOrigins(layers, 'text');
}

export async function fileLayer(path: string): Promise<Layer> {
	const refuse = (why: string, cause?: unknown): never => {
		throw new AgentError('ERR_CONFIG', `configuration file ${path}: ${why}`, { cause });
	};
	const text = await readFile(path, 'utf8').catch((cause: unknown) => refuse(messageOf(cause), cause));
	const values = (await parsedYaml(text, refuse)) ?? {};
	if (typeof values !== 'object' || Array.isArray(values)) refuse('expected options, as "name: value" lines');
	return {
		values: values as Record<string, unknown>,
		nameOf: (option) => `${path}: ${option}`,
		originOf: () => `file ${path}`,
	};
}

async function parsedYaml(text: string, refuse: (why: string) => never): Promise<unknown> {
	const { parseDocument } = await import('yaml');
	// Not silent: that would leave a second document out unsaid.
	const document = parseDocument(text, { logLevel: 'error' });
	const [error] = document.errors;
	if (error !== undefined) {
		const [start] = error.linePos ?? [];
		// The parser quotes the line, or what it took for a name: with a key in the file, that may be part of the key.
		const place = start === undefined ? '' : ` at line ${start.line}, column ${start.col}`;
		if (error.code === 'MULTIPLE_DOCS')
			return refuse(`a second document begins${place}; write all options into one`);
		const why = holdsPrivateKey(text)
			? `${error.code}${place}; what stands there is not shown, because the file holds a private key`
			: error.message;
		return refuse(`it is no YAML: ${why}`);
	}
	try {
		return document.toJS();
	} catch (error) {
		return refuse(holdsPrivateKey(text) ? 'an alias in it cannot be used' : messageOf(error));
	}
}

/**
 * Variables that name no option are left alone: Kubernetes makes some of the same prefix. See `strangeVariables`. An empty one is
 * none, as in other programs.
 */
export function environmentLayer(environment: NodeJS.ProcessEnv, which: 'all' | 'selection' = 'all'): Layer {
	const values: Record<string, unknown> = {};
	for (const { option, name, kind, row } of FLAGS) {
		if (which === 'selection' && row.selection === undefined) continue;
		const text = environment[variableOf(name)];
		if (text !== undefined && text !== '')
			values[option] = convert(kind, kind === 'texts' || kind === 'numbers' ? splitList(text) : text);
	}
	const nameOf = (option: string) => variableOf(flagOf(option));
	return { values, nameOf, originOf: (option) => `environment ${nameOf(option)}` };
}

/** What Kubernetes gives every Pod of a namespace with a Service `conntrack-ipfix`, or `conntrack-ipfix-…`. */
const OF_A_SERVICE = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$/;

/** Variables with the prefix of options that are none of them, as a typing error is: they have no effect. */
export function strangeVariables(environment: NodeJS.ProcessEnv): string[] {
	const known = new Set(variables());
	return Object.keys(environment).filter(
		(name) => name.startsWith(ENVIRONMENT) && !known.has(name) && !OF_A_SERVICE.test(name),
	);
}

/** What to say of such a variable. */
export function complaintOf(variable: string): string {
	// The prefix, which is right, must not make all of them near.
	const near = nearest(variable.slice(ENVIRONMENT.length), ['CONFIG', ...FLAGS.map(({ name }) => name)]);
	const meant = near === undefined ? '' : `: did you mean ${variableOf(near)}?`;
	return `this variable of the environment is no option and has no effect${meant}; run --help lists them`;
}

function variables(): string[] {
	return [`${ENVIRONMENT}CONFIG`, ...FLAGS.map(({ name }) => variableOf(name))];
}

export function flagLayer(flags: Readonly<Record<string, unknown>>): Layer {
	const values: Record<string, unknown> = {};
	for (const { option, name, kind } of FLAGS) {
		const value = flags[name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())];
		if (value !== undefined) values[option] = convert(kind, value);
	}
	const nameOf = (option: string) =>
		// What undoes a switch is a flag of its own.
		values[option] === false ? `--no-${flagOf(option)}` : `--${flagOf(option)}`;
	return { values, nameOf, originOf: (option) => `flag ${nameOf(option)}` };
}

function variableOf(name: string): string {
	return ENVIRONMENT + name.toUpperCase().replaceAll('-', '_');
}

function flagOf(option: string): string {
	return FLAGS.find((flag) => flag.option === option)?.name ?? option;
}

const TRUTHS: ReadonlyMap<string, boolean> = new Map([
	['true', true],
	['1', true],
	['yes', true],
	['false', false],
	['0', false],
	['no', false],
]);

/** What cannot be converted stays as it was written, for the schema's complaint to quote. */
function convert(kind: FlagKind, value: unknown): unknown {
	if (kind === 'numbers' && Array.isArray(value)) return value.map((entry) => convert('number', entry));
	if (kind === 'number' && typeof value === 'string') return /^\d+$/.test(value) ? Number(value) : value;
	if (kind === 'switch' && typeof value === 'string') return TRUTHS.get(value) ?? value;
	return value;
}
