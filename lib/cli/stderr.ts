/** Text on stderr, at once. Nobody reading it, or a full pipe, is no reason to stop working. */
import { writeSync } from 'node:fs';

const STDERR = 2;
/** What a terminal obeys instead of showing it, but for line feeds and tabs: some of a text may come from strangers. */
const OBEYED = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

export function writeStderr(text: string): void {
	try {
		writeSync(STDERR, printable(text));
	} catch {
		// Nothing else could tell it.
	}
}

/** The text with `\u001b` where a terminal would take an escape. */
export function printable(text: string): string {
	return text.replace(
		OBEYED,
		(character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
	);
}
