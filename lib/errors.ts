/**
 * Errors that people see. Every one has a `code` that programs can test; its message says what was being
 * done, what went wrong and, where there is one, what to do about it.
 */
import { inspect } from 'node:util';

/** Something that this layer refuses or could not do. Errors of the native core carry `code` as well. */
export class AgentError extends Error {
	readonly code: string;

	constructor(code: string, message: string, options?: ErrorOptions) {
		super(message, options);
		this.name = 'AgentError';
		this.code = code;
	}
}

/** An option that cannot be used: says which, what it got and what was expected. */
export class OptionError extends AgentError {
	/** Where the option was given: `collectors[0].url`, `--poll-interval`, `CONNTRACK_IPFIX_ZONE`. */
	readonly path: string;
	readonly expected: string;

	constructor(path: string, got: unknown, expected: string) {
		super('ERR_OPTION', `${path}: got ${quote(got)}, expected ${expected}`);
		this.name = 'OptionError';
		this.path = path;
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
	const text = jsonOf(value) ?? String(value);
	return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

/** Undefined for a function. What JSON cannot say, a bigint or an object in a circle, is shown as Node shows it. */
function jsonOf(value: unknown): string | undefined {
	try {
		return JSON.stringify(value);
	} catch {
		return inspect(value, { breakLength: Number.POSITIVE_INFINITY });
	}
}
