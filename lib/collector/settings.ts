/**
 * Options of a `Collector` as its parts take them. Raw values enter `receivingSettings`; what leaves is `ReceivingSettings`,
 * in which everything is set and within its bounds, or an `OptionError`.
 */
import { z } from 'zod';
import { OptionError } from '../errors.ts';
import {
	check,
	choice,
	duration,
	integer,
	list,
	object,
	parsed,
	pathText,
	pem,
	text,
	truth,
} from '../options/checks.ts';
import { type NetworkTarget, parseTarget } from '../options/target.ts';
import type { CollectorOptions } from './types.ts';

const LISTEN_SYNTAX = 'tcp://HOST[:PORT], tls://HOST[:PORT] or udp://HOST[:PORT]';
/** Options that only TLS uses: without it somebody would believe in a protection that is not there. */
const FOR_TLS = ['cert', 'key', 'ca', 'crl', 'handshakeTimeout'] as const;

const milliseconds = duration(true);
const target = parsed<string, NetworkTarget>(LISTEN_SYNTAX, (value) => {
	const found = typeof value === 'string' ? parseTarget(value, true) : undefined;
	return found === undefined || found.kind === 'file' ? undefined : found;
});
const schema = object(
	{
		listen: list(target, 'a list of addresses to listen on'),
		files: list(text('the path of a file'), 'a list of files to read'),
		optionsRecords: truth(),
		largeNumbers: choice('number', 'text'),
		cert: pem(),
		key: pem(),
		ca: pem(),
		crl: pem(),
		maxSessions: integer(1, 65_536),
		idleTimeout: milliseconds,
		handshakeTimeout: milliseconds,
		maxQueuedBytes: integer(4_096, 1_073_741_824),
		maxTemplateBytes: integer(65_536, 1_073_741_824),
		accept: z.custom<NonNullable<CollectorOptions['accept']>>((value) => typeof value === 'function', {
			error: 'a function of the address and port',
		}),
		signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, { error: 'an AbortSignal' }),
	},
	'an object of options',
);

const DEFAULTS = {
	optionsRecords: false,
	largeNumbers: 'number',
	maxSessions: 256,
	idleTimeout: 1_800_000,
	handshakeTimeout: 10_000,
	maxQueuedBytes: 16 * 1024 * 1024,
	maxTemplateBytes: 64 * 1024 * 1024,
} as const;

type Parsed = z.output<typeof schema>;
type Defaulted = keyof typeof DEFAULTS | 'listen' | 'files';
/** Times in milliseconds. */
export type ReceivingSettings = { readonly [K in Defaulted]-?: NonNullable<Parsed[K]> } & Readonly<
	Omit<Parsed, Defaulted>
>;

/** Throws `OptionError` for the first option that cannot be used. */
export function receivingSettings(options: CollectorOptions): ReceivingSettings {
	const given = check(schema, options, (path) => pathText(path, (option) => option));
	const { listen = [], files = [] } = given;
	if (listen.length + files.length === 0)
		throw new OptionError('listen', options.listen, 'an address to listen on, or files to read');
	const overTls = listen.findIndex(({ kind }) => kind === 'tls');
	for (const option of FOR_TLS) {
		if (given[option] !== undefined && overTls < 0)
			throw new OptionError(option, options[option], 'a tls:// address to listen on');
	}
	for (const option of ['cert', 'key'] as const) {
		if (overTls >= 0 && given[option] === undefined)
			throw new OptionError(option, undefined, `one, because ${options.listen?.[overTls]} is listened on`);
	}
	if (given.crl !== undefined && given.ca === undefined)
		throw new OptionError('ca', undefined, 'one, because crl is given');
	const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
	return { ...DEFAULTS, ...(defined as Parsed), listen, files } as ReceivingSettings;
}
