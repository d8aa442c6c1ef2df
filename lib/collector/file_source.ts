/** IPFIX files: one transport session each. */
import { createReadStream } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import { AgentError, codeOf, messageOf } from '../errors.ts';
import type { Intake } from './intake.ts';
import { type Ending, Session } from './session.ts';
import type { Source } from './source.ts';

const REASONS: Readonly<Record<string, string>> = {
	ENOENT: 'no such file',
	ENOTDIR: 'no such file',
	EISDIR: 'it is a folder',
	EACCES: 'no permission to read it',
};

export interface FileSource extends Source {
	/** Null: it was read in full. */
	readonly done: Promise<Ending | null>;
}

/** Rejects with the system's code for a file that cannot be opened. It is not opened: a pipe could be read only once. */
export async function checkFile(path: string, where: string): Promise<void> {
	const refuse = (error: unknown) => {
		const code = codeOf(error) ?? 'ERR_FILE';
		return new AgentError(code, `${where}: ${path}: cannot be read: ${REASONS[code] ?? messageOf(error)}`, {
			cause: error,
		});
	};
	try {
		await access(path, constants.R_OK);
		if (!(await stat(path)).isDirectory()) return;
	} catch (error) {
		throw refuse(error);
	}
	throw new AgentError('EISDIR', `${where}: ${path}: cannot be read: ${REASONS['EISDIR']}`);
}

export function openFile(path: string, intake: Intake): FileSource {
	const stream = createReadStream(path);
	const session = new Session('file', path, intake.settings, () => stream.destroy());
	intake.open(session);
	if (intake.full) stream.pause();
	stream.on('data', (chunk) => {
		if (typeof chunk !== 'string') intake.take(session, chunk);
	});
	stream.on('end', () => intake.finished(session));
	stream.on('error', (cause) => intake.broken(session, cause));
	const done = new Promise<Ending | null>((resolve) => {
		stream.on('close', () => {
			intake.closed(session);
			resolve(session.ending);
		});
	});
	return {
		address: null,
		done,
		pause: () => stream.pause(),
		resume: () => stream.resume(),
		close: async () => {
			// A pipe that nobody writes, or a disk that does not answer, keeps the stream from closing.
			intake.closed(session);
			stream.destroy();
		},
	};
}
