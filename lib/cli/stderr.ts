/** Text on stderr, at once. Nobody reading it, or a full pipe, is no reason to stop working. */
import { writeSync } from 'node:fs';

const STDERR = 2;

export function writeStderr(text: string): void {
	try {
		writeSync(STDERR, text);
	} catch {
		// Nothing else could tell it.
	}
}
