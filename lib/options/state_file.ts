/** Whether the state file can be written, asked at the start: the core writes it for the first time a minute later. */
import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { AgentError, codeOf, messageOf } from '../errors.ts';
import { isFolder } from './folder.ts';

/** Throws ERR_STATE_FILE. The file need not exist; its folder must, and take the new file that replaces it. */
export function checkStateFile(path: string): void {
	const folder = dirname(resolve(path));
	const refuse = (why: string): never => {
		throw new AgentError('ERR_STATE_FILE', `the state file ${path} cannot be written: ${why}`);
	};
	if (isFolder(path)) refuse('it is a folder');
	try {
		if (!statSync(folder).isDirectory()) refuse(`${folder} is no folder`);
		accessSync(folder, constants.W_OK | constants.X_OK);
	} catch (error) {
		const reasons: Record<string, string> = {
			ENOENT: `there is no folder ${folder}`,
			ENOTDIR: `there is no folder ${folder}`,
			EACCES: `no permission to write to the folder ${folder}`,
			EROFS: `the folder ${folder} is on a read-only file system`,
		};
		if (error instanceof AgentError) throw error;
		refuse(reasons[codeOf(error) ?? ''] ?? messageOf(error));
	}
}
