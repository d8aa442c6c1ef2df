/**
 * What the tables of options are made of: checks of single values that say what they expected, and objects that know
 * their names. Raw values enter `check`; what leaves is checked and converted, or an `OptionError` for the first that is wrong.
 */
import { z } from 'zod';
import { OptionError } from '../errors.ts';
import { checkMilliseconds, DURATION_SYNTAX, parseDuration } from './duration.ts';
import { didYouMean } from './nearest.ts';
import { holdsPrivateKey } from './secrets.ts';

/** A value that is checked and converted by `convert`; undefined from it means that `expected` was not met. */
export function parsed<In, Out>(expected: string, convert: (value: In) => Out | undefined) {
	return judged<In, Out>((value) => convert(value) ?? { expected });
}

/** The same, where what was expected depends on the value. */
export function judged<In, Out>(convert: (value: In) => Out | { expected: string }) {
	return z.custom<In>().transform((value, context): Out => {
		const result = convert(value);
		if (typeof result === 'object' && result !== null && 'expected' in result) {
			context.addIssue({ code: 'custom', message: result.expected, input: value });
			return z.NEVER;
		}
		return result;
	});
}

export const integer = (low: number, high: number) =>
	parsed<number, number>(`a whole number from ${low} to ${high}`, (value) =>
		Number.isInteger(value) && value >= low && value <= high ? value : undefined,
	);

/** A text that is not empty, and no private key: such a text goes into logs and metrics. */
export const text = (expected: string) =>
	parsed<string, string>(expected, (value) =>
		typeof value === 'string' && value !== '' && !holdsPrivateKey(value) ? value : undefined,
	);

/** A PEM file, or PEM text. What has several lines and is no PEM would be taken for a path. */
export const pem = () =>
	parsed<string, string>('the path of a PEM file, or PEM text, which begins with -----BEGIN', (value) =>
		typeof value === 'string' &&
		value !== '' &&
		(/^\s*-----BEGIN /.test(value) || !(holdsPrivateKey(value) || /[\r\n]/.test(value)))
			? value
			: undefined,
	);

export const choice = <const T extends readonly [string, ...string[]]>(...values: T) =>
	z.enum(values, {
		error: ({ input }) =>
			`one of ${values.join(', ')}${typeof input === 'string' ? didYouMean(input, values) : ''}`,
	});

export const truth = () => z.boolean({ error: 'true or false' });

/** Any number of elements; with `least`, what is expected where there is none. */
export function list<T extends z.ZodType>(element: T, expected: string, least?: string) {
	const array = z.array(element, { error: expected });
	return (least === undefined ? array : array.min(1, { error: least })) as unknown as z.ZodType<
		Array<z.output<T>>,
		ReadonlyArray<z.input<T>>
	>;
}

/** Milliseconds. `numbers`: whether a bare number is taken for them, as only JavaScript may write it. */
export const duration = (numbers: boolean) => (numbers ? WITH_NUMBERS : WITH_UNITS);

const WITH_UNITS = durationCheck(DURATION_SYNTAX, () => undefined);
const WITH_NUMBERS = durationCheck(`${DURATION_SYNTAX}, or milliseconds as a number`, checkMilliseconds);
export type DurationCheck = typeof WITH_UNITS;

function durationCheck(expected: string, ofNumber: (value: number) => number | undefined) {
	return parsed<number | string, number>(expected, (value) => {
		if (typeof value === 'number') return ofNumber(value);
		return typeof value === 'string' ? parseDuration(value) : undefined;
	});
}

export function isDuration(schema: unknown): boolean {
	return schema === WITH_UNITS || schema === WITH_NUMBERS;
}

type Shape = Readonly<Record<string, z.ZodType>>;
export type InputOf<S extends Shape> = { [K in keyof S]?: z.input<S[K]> | undefined };
export type OutputOf<S extends Shape> = { [K in keyof S]?: z.output<S[K]> | undefined };

/** An object in which everything but `needed` is optional, and a name that is not in `shape` an error that says the nearest one. */
export function object<const S extends Shape>(
	shape: S,
	expected: string,
	needed?: keyof S,
): z.ZodType<OutputOf<S>, InputOf<S>> {
	const members = Object.fromEntries(
		Object.entries(shape).map(([name, value]) => [name, name === needed ? value : value.optional()]),
	);
	const names = Object.keys(shape);
	return z.strictObject(members, {
		error: (issue) =>
			issue.code === 'unrecognized_keys'
				? `no option of this name${didYouMean(issue.keys[0] ?? '', names)}`
				: expected,
	}) as unknown as z.ZodType<OutputOf<S>, InputOf<S>>;
}

/** Names an option where it was given: `--zone[1]`, `collectors[0].url`. */
export type NameOf = (path: readonly PropertyKey[]) => string;

export function pathText(path: readonly PropertyKey[], nameOf: (option: string) => string): string {
	return path.reduce<string>((name, key, depth) => {
		if (depth === 0) return nameOf(String(key));
		return typeof key === 'number' ? `${name}[${key}]` : `${name}.${String(key)}`;
	}, '');
}

/** Throws `OptionError` for the first thing that cannot be used. */
export function check<T extends z.ZodType>(schema: T, value: unknown, nameOf: NameOf): z.output<T> {
	const outcome = schema.safeParse(value, { reportInput: true });
	if (outcome.success) return outcome.data;
	// A wrong name is often why a right one is missing.
	const { issues } = outcome.error;
	const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0];
	if (issue?.code === 'unrecognized_keys') {
		const [key = ''] = issue.keys;
		const got = (issue.input as Record<string, unknown> | undefined)?.[key];
		throw new OptionError(nameOf([...issue.path, key]), got, issue.message);
	}
	throw new OptionError(
		nameOf(issue?.path ?? []) || 'options',
		issue?.input,
		issue?.message ?? 'another value',
	);
}
