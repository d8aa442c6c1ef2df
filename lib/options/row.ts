/** One option: what all that is said and checked of it follows from. */
import type { z } from 'zod';

/** How a flag or variable is written: one value, or several with commas between; a number; or its name alone. */
export type FlagKind = 'text' | 'number' | 'switch' | 'texts' | 'numbers';

export interface Row {
	/** Checks and converts what is given. */
	schema: z.ZodType;
	/** What it is for, in one sentence; Markdown. For help and the README. */
	meaning: string;
	/** As it would be given. */
	default?: unknown;
	/** In place of `default` where that depends on something; Markdown. */
	defaultText?: string;
	/** Of an option that is an object: its parts, for the README. */
	parts?: string;
}

/** One option of the exporter. */
export interface OptionRow extends Row {
	/** The flag's name without dashes, also that of the variable. Without one the option is for files and programs alone. */
	flag?: string;
	kind?: FlagKind;
	/** What stands for the value in help. */
	argument?: string;
	/** Part of what `dump` takes, too. */
	selection?: true;
}
