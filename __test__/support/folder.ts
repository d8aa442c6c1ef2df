/** Folders for a test's files. They are gone when the process that asked for them ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];

export function temporaryFolder(name: string): string {
	if (folders.length === 0) {
		process.on('exit', () => {
			for (const folder of folders) rmSync(folder, { recursive: true, force: true });
		});
	}
	const folder = mkdtempSync(join(tmpdir(), `${name}-`));
	folders.push(folder);
	return folder;
}
