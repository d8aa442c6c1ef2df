/**
 * Options of a command from their three places. Precedence: flag, then environment, then file, option by option.
 * Texts become numbers, lists and truth values here; whether they are right is the schema's to say.
 */
import { readFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { AgentError, messageOf } from '../errors.ts';
import { type Layer, resolveOptions, type Settings } from '../options/options.ts';
import { FLAGS, type Kind } from './flags.ts';

const ENVIRONMENT = 'CONNTRACK_IPFIX_';

/** Adds the flags of the exporter, or of the selection only. */
export function addFlags(command: Command, which: 'all' | 'selection'): void {
	if (which === 'all') command.option('-c, --config <FILE>', 'YAML file with options in camelCase');
	for (const { name, kind, argument, help, selection } of FLAGS) {
		if (which === 'selection' && selection === undefined) continue;
		const option = new Option(kind === 'switch' ? `--${name}` : `--${name} <${argument}>`, help);
		if (kind === 'texts' || kind === 'numbers') {
			option.argParser((value: string, previous: string[] | undefined) => [
				...(previous ?? []),
				...splitList(value),
			]);
		}
		command.addOption(option);
	}
}

/** Reads all places. Throws `OptionError`, or an error with code ERR_CONFIG when the file cannot be read. */
export async function loadSettings(
	flags: Readonly<Record<string, unknown>>,
	environment: NodeJS.ProcessEnv,
	more: Layer[] = [],
): Promise<Settings> {
	const file = flags['config'] ?? environment[`${ENVIRONMENT}CONFIG`];
	const layers: Layer[] = [];
	if (typeof file === 'string') layers.push(await fileLayer(file));
	layers.push(environmentLayer(environment), flagLayer(flags), ...more);
	return resolveOptions(layers, 'text');
}

export async function fileLayer(path: string): Promise<Layer> {
	const { parse } = await import('yaml');
	let values: unknown;
	try {
		values = parse(await readFile(path, 'utf8')) ?? {};
	} catch (cause) {
		throw new AgentError('ERR_CONFIG', `configuration file ${path}: ${messageOf(cause)}`, { cause });
	}
	if (typeof values !== 'object' || values === null || Array.isArray(values)) {
		throw new AgentError(
			'ERR_CONFIG',
			`configuration file ${path}: expected options, as "name: value" lines`,
		);
	}
	return { values: values as Record<string, unknown>, nameOf: (option) => `${path}: ${option}` };
}

/** Variables that name no option are left alone: Kubernetes makes some of the same prefix. See `strangeVariables`. */
export function environmentLayer(environment: NodeJS.ProcessEnv): Layer {
	const values: Record<string, unknown> = {};
	for (const { option, name, kind } of FLAGS) {
		const text = environment[variableOf(name)];
		if (text !== undefined && text !== '')
			values[option] = convert(kind, kind === 'texts' || kind === 'numbers' ? splitList(text) : text);
	}
	return { values, nameOf: (option) => variableOf(nameOf(option)) };
}

/** What Kubernetes gives every Pod of a namespace with a Service `conntrack-ipfix`, or `conntrack-ipfix-…`. */
const OF_A_SERVICE = /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$/;

/** Variables with the prefix of options that are none of them, as a typing error is: they have no effect. */
export function strangeVariables(environment: NodeJS.ProcessEnv): string[] {
	const known = new Set([`${ENVIRONMENT}CONFIG`, ...FLAGS.map(({ name }) => variableOf(name))]);
	return Object.keys(environment).filter(
		(name) => name.startsWith(ENVIRONMENT) && !known.has(name) && !OF_A_SERVICE.test(name),
	);
}

export function flagLayer(flags: Readonly<Record<string, unknown>>): Layer {
	const values: Record<string, unknown> = {};
	for (const { option, name, kind } of FLAGS) {
		const value = flags[name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())];
		if (value !== undefined) values[option] = convert(kind, value);
	}
	return { values, nameOf: (option) => `--${nameOf(option)}` };
}

function variableOf(name: string): string {
	return ENVIRONMENT + name.toUpperCase().replaceAll('-', '_');
}

function nameOf(option: string): string {
	return FLAGS.find((flag) => flag.option === option)?.name ?? option;
}

function splitList(text: string): string[] {
	return text
		.split(',')
		.map((part) => part.trim())
		.filter((part) => part !== '');
}

/** What cannot be converted stays as it was written, for the schema's complaint to quote. */
function convert(kind: Kind, value: unknown): unknown {
	if (kind === 'numbers' && Array.isArray(value)) return value.map((entry) => convert('number', entry));
	if (kind === 'number' && typeof value === 'string') return /^\d+$/.test(value) ? Number(value) : value;
	if (kind === 'switch' && typeof value === 'string') {
		return (
			({ true: true, '1': true, yes: true, false: false, '0': false, no: false } as Record<string, boolean>)[
				value
			] ?? value
		);
	}
	return value;
}
