/**
 * A file under way, `PATH.part`: begun beside what is there, written, forced to the disk, named. Nothing in here waits
 * for anything but the disk, which may never answer: who calls sets the limit.
 */
import { type FileHandle, open, rename, stat, unlink } from 'node:fs/promises';
import { extname } from 'node:path';
import { native } from '../core/native.ts';
import { codeOf } from '../errors.ts';

/** Somebody else begins files there at the same moment, again and again. */
const MOST_TRIES = 5;

interface Identity {
	readonly dev: number;
	readonly ino: number;
}

export class PartFile {
	readonly #handle: FileHandle;
	readonly #identity: Identity;
	readonly #target: string;
	/** Where it stands. */
	#path: string;
	#naming: Promise<void> | undefined;
	#writing: Promise<void> | undefined;
	#size = 0;
	#dirty = false;
	/** Messages with records in it, and how many of them are safe. */
	#messages = 0;
	#safe = 0;
	#gone = false;

	private constructor(handle: FileHandle, identity: Identity, target: string) {
		this.#handle = handle;
		this.#identity = identity;
		this.#target = target;
		this.#path = partOf(target);
	}

	/**
	 * Begins `target`.part, locked against other agents and collectors. What an earlier one has left there gets its name,
	 * or is removed when it is empty. Rejects when somebody writes to it.
	 */
	static async begin(target: string): Promise<PartFile> {
		const part = partOf(target);
		const { lockFile } = native();
		for (let tries = 0; tries < MOST_TRIES; tries += 1) {
			await clear(target);
			const handle = await open(part, 'wx').catch((error: unknown) => {
				if (codeOf(error) === 'EEXIST') return undefined;
				throw error;
			});
			if (handle === undefined) continue;
			// Somebody may have taken it for a file that was left, before it was locked.
			if (lockFile(handle.fd) && (await isAt(handle, part)))
				return new PartFile(handle, await handle.stat(), target);
			await handle.close();
		}
		throw new Error(inUse(part));
	}

	get size(): number {
		return this.#size;
	}

	/** Whether something was written since the last flush. */
	get isDirty(): boolean {
		return this.#dirty;
	}

	/** It was removed: what was written to it is nowhere. */
	get isGone(): boolean {
		return this.#gone;
	}

	/** Appends all of it or leaves the file as it was, so that it never ends in half a message. One at a time. */
	write(octets: Buffer, messages: number): Promise<void> {
		const written = this.#write(octets, messages);
		this.#writing = written.catch(() => undefined);
		return written;
	}

	async #write(octets: Buffer, messages: number): Promise<void> {
		const start = this.#size;
		let done = 0;
		try {
			while (done < octets.length) {
				const { bytesWritten } = await this.#handle.write(octets, done, octets.length - done, start + done);
				done += bytesWritten;
			}
		} catch (error) {
			if (done > 0) await this.#handle.truncate(start).catch(() => undefined);
			throw error;
		}
		this.#size = start + octets.length;
		this.#messages += messages;
		this.#dirty = true;
	}

	/**
	 * Forces to the disk what has been written, and looks whether the file is still where it was begun. Gives how many
	 * messages are safe now that were not before. Rejects when they are not.
	 */
	async flush(): Promise<number> {
		const messages = this.#messages;
		if (this.#dirty) {
			this.#dirty = false;
			await this.#handle.datasync();
		}
		if (!(await this.#stands())) {
			this.#gone = (await this.#handle.stat()).nlink === 0;
			throw new Error(
				`${this.#path}: somebody has ${this.#gone ? 'removed' : 'moved'} it; a new one is begun`,
			);
		}
		return this.#madeSafe(messages);
	}

	/** The same for a file that has its name, which somebody may have taken away already. Closes it. */
	async close(): Promise<number> {
		await this.#handle.sync();
		await this.#handle.close();
		return this.#madeSafe(this.#messages);
	}

	#madeSafe(messages: number): number {
		const more = messages - this.#safe;
		this.#safe = messages;
		return more;
	}

	/** Renames it when it is complete. `dated`: with the time also where the plain name is free. */
	name(dated: boolean): Promise<void> {
		const named = async () => {
			const name = await freeName(this.#target, new Date(), dated);
			await rename(this.#path, name);
			this.#path = name;
		};
		const naming = named();
		this.#naming = naming
			.catch(() => undefined)
			.then(() => {
				this.#naming = undefined;
			});
		return naming;
	}

	/** It is given up as it is: closed when the disk has answered, and removed if it has no records. Never rejects. */
	async leave(): Promise<void> {
		try {
			native().unlockFile(this.#handle.fd);
		} catch {
			// It is closed already.
		}
		await this.#writing;
		await this.#naming;
		try {
			const unnamed = this.#path === partOf(this.#target);
			if (unnamed && this.#messages === 0 && (await isAt(this.#handle, this.#path))) await unlink(this.#path);
		} catch {
			// It stays.
		}
		await this.#handle.close().catch(() => undefined);
	}

	async #stands(): Promise<boolean> {
		for (;;) {
			await this.#naming;
			const path = this.#path;
			if (isSame(this.#identity, await identityAt(path))) return true;
			if (this.#naming === undefined && path === this.#path) return false;
		}
	}
}

function partOf(target: string): string {
	return `${target}.part`;
}

function inUse(part: string): string {
	return `${part} is written by another agent or collector: each needs a path of its own`;
}

/** Makes room for a new `.part`. */
async function clear(target: string): Promise<void> {
	const part = partOf(target);
	const left = await open(part, 'r+').catch((error: unknown) => {
		if (codeOf(error) === 'ENOENT') return undefined;
		throw error;
	});
	if (left === undefined) return;
	try {
		if (!native().lockFile(left.fd)) throw new Error(inUse(part));
		// Whoever had it has just named it.
		if (!(await isAt(left, part))) return;
		const { size, mtime } = await left.stat();
		if (size === 0) await unlink(part);
		else await rename(part, await freeName(target, mtime, true));
	} finally {
		await left.close();
	}
}

/** PATH itself when it is free and `dated` is false, else PATH with a time, and a number if that is taken too. */
async function freeName(path: string, time: Date, dated: boolean): Promise<string> {
	if (!dated && (await identityAt(path)) === undefined) return path;
	const extension = extname(path);
	const stem = path.slice(0, path.length - extension.length);
	const stamp = time.toISOString().replaceAll(/[-:]/g, '').replace('.', '');
	for (let number = 0; ; number += 1) {
		const name = `${stem}-${stamp}${number === 0 ? '' : `-${number}`}${extension}`;
		if ((await identityAt(name)) === undefined) return name;
	}
}

async function isAt(handle: FileHandle, path: string): Promise<boolean> {
	return isSame(await handle.stat(), await identityAt(path));
}

function isSame(one: Identity, other: Identity | undefined): boolean {
	return other !== undefined && one.dev === other.dev && one.ino === other.ino;
}

/** Undefined: nothing is there. */
async function identityAt(path: string): Promise<Identity | undefined> {
	try {
		return await stat(path);
	} catch (error) {
		if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
		throw error;
	}
}
