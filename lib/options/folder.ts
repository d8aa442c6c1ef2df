import { statSync } from 'node:fs';

/** A path that is a folder, or can only be one. What cannot be looked at is none: whoever opens it says what is wrong. */
export function isFolder(path: string): boolean {
	try {
		return path.endsWith('/') || statSync(path).isDirectory();
	} catch {
		return false;
	}
}
