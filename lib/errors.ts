/**
 * Errors that people see. Every one has a `code` that programs can test; its message says what was being
 * done, what went wrong and, where there is one, what to do about it.
 */
import { inspect } from 'node:util';
import { HIDDEN, holdsPrivateKey, withoutPasswords, withoutPrivateKeys } from './options/secrets.ts';

/**
 * Something that this package refuses or could not do. Its message never holds a private key, whatever was given.
 * docs/errors.md has all codes and what to do about each.
 */
export class AgentError extends Error {
	/** What happened, for programs: `ERR_OPTION`, `ERR_PERMISSION`, or a code of the system such as `EADDRINUSE`. */
	readonly code: string;

	/** Made by this package. */
	constructor(code: string, message: string, options?: ErrorOptions) {
		// What caused it quotes what was given, too, and is printed with it.
		const tells = options?.cause !== undefined && !holdsPrivateKey(inspect(options.cause));
		super(withoutPrivateKeys(message), tells ? options : {});
		this.name = 'AgentError';
		this.code = code;
	}
}

/** An option that cannot be used: says which, what it got and what was expected. */
export class OptionError extends AgentError {
	/** Where the option was given: `collectors[0].url`, `--poll-interval`, `CONNTRACK_IPFIX_ZONE`. */
	readonly path: string;
	/** What would have been right, in words. */
	readonly expected: string;

	/** Made by this package. `got` is quoted in the message, unless it is a secret. */
	constructor(path: string, got: unknown, expected: string) {
		super('ERR_OPTION', `${path}: got ${quote(got)}, expected ${expected}`);
		this.name = 'OptionError';
		this.path = withoutPrivateKeys(path);
		this.expected = expected;
	}
}

/** The `code` of anything thrown, or undefined. */
export function codeOf(error: unknown): string | undefined {
	if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string') {
		return error.code;
	}
	return undefined;
}

/** The message of anything thrown. */
export function messageOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}

export function toError(thrown: unknown): Error {
	return thrown instanceof Error ? thrown : new Error(String(thrown));
}

function quote(value: unknown): string {
	if (value === undefined) return 'nothing';
	const text = typeof value === 'number' ? String(value) : (jsonOf(value) ?? String(value));
	// The whole value: what is left of a mangled key, or stands beside one, may be part of it.
	if (holdsPrivateKey(text)) return HIDDEN;
	// Before it is cut: a part of a line or of a URL cannot be told from other text.
	const shown = withoutPasswords(withoutPrivateKeys(text));
	return shown.length > 120 ? `${shown.slice(0, 117)}...` : shown;
}

/** Undefined for a function. What JSON cannot say, a bigint or an object in a circle, is shown as Node shows it. */
function jsonOf(value: unknown): string | undefined {
	try {
		return JSON.stringify(value, (_, inner: unknown) =>
			ArrayBuffer.isView(inner) || (inner as { type?: unknown } | null)?.type === 'Buffer'
				? '(octets)'
				: inner,
		);
	} catch {
		return inspect(value, { breakLength: Number.POSITIVE_INFINITY });
	}
}
