/**
 * IPFIX files (RFC 5655): whole messages one after the other, templates first.
 *
 * A file under way is named `PATH.part`. When it is complete it gets its name: PATH, or, where files are rotated
 * or PATH is taken, PATH with the time of its end before the extension. No file is ever written over; a `.part` that
 * a killed agent left is named the same way before the new one begins.
 */
import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { codeOf, messageOf } from '../errors.ts';
import type { FileTarget } from '../options/target.ts';
import { Session } from './session.ts';

const WRITE_OCTETS = 1024 * 1024;
const MESSAGE_OCTETS = 65_535;
const LONGEST_WRITE_MS = 10_000;

export class FileSession extends Session {
	#file: FileHandle | undefined;
	#attempt = 0;
	#writing: Promise<void> | undefined;
	#size = 0;
	#openedAt = 0;
	#dirty = false;
	#syncTimer: NodeJS.Timeout | undefined;

	protected connect(): void {
		this.#attempt += 1;
		const attempt = this.#attempt;
		this.#open(attempt).catch((error: unknown) => {
			if (attempt === this.#attempt) this.broke(messageOf(error));
		});
	}

	get #path(): string {
		return (this.settings.target as FileTarget).path;
	}

	async #open(attempt: number): Promise<void> {
		const part = `${this.#path}.part`;
		const left = await modified(part);
		if (left !== undefined) await rename(part, await freeName(this.#path, left, true));
		const file = await open(part, 'wx');
		if (attempt !== this.#attempt) {
			await file.close();
			return;
		}
		this.#file = file;
		this.#size = 0;
		this.#openedAt = performance.now();
		this.#syncTimer = setInterval(() => this.#sync(file), this.settings.flushInterval).unref();
		this.opened(this.settings.maxMessageSize ?? MESSAGE_OCTETS);
	}

	#sync(file: FileHandle): void {
		if (this.#file !== file) return;
		if (this.#dirty) {
			this.#dirty = false;
			file.datasync().catch((error: unknown) => {
				if (this.#file === file) this.broke(`fsync: ${messageOf(error)}`);
			});
		}
		this.#rotateIfDue();
	}

	protected pump(): void {
		const file = this.#file;
		if (file === undefined || this.#writing !== undefined) return;
		const chunks = this.wire.control.splice(0);
		let octets = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
		let messages = 0;
		while (octets < WRITE_OCTETS) {
			const outgoing = this.outbox.next();
			if (outgoing === undefined) break;
			const header = this.stamp(outgoing.message);
			if (header === undefined) return;
			chunks.push(header, outgoing.message.body);
			octets += header.length + outgoing.message.body.length;
			messages += 1;
		}
		if (octets === 0) return;
		this.#writing = this.#write(file, Buffer.concat(chunks, octets)).then(
			() => {
				if (this.#file !== file) return;
				this.#writing = undefined;
				this.#size += octets;
				this.sentBytes += octets;
				this.#dirty = true;
				for (; messages > 0; messages -= 1) this.settleOldest();
				this.#rotateIfDue();
				this.pump();
			},
			(error: unknown) => {
				if (this.#file !== file) return;
				this.#writing = undefined;
				this.broke(messageOf(error));
			},
		);
	}

	/** Writes all of it or leaves the file as it was, so that it never ends in half a message. */
	async #write(file: FileHandle, octets: Buffer): Promise<void> {
		const start = this.#size;
		let done = 0;
		try {
			while (done < octets.length) {
				const { bytesWritten } = await file.write(octets, done, octets.length - done, start + done);
				done += bytesWritten;
			}
		} catch (error) {
			if (done > 0) await file.truncate(start).catch(() => undefined);
			throw error;
		}
	}

	#rotateIfDue(): void {
		const { rotate } = this.settings;
		if (rotate === undefined || this.state !== 'open') return;
		const old = rotate.interval !== undefined && performance.now() - this.#openedAt >= rotate.interval;
		if (old || (rotate.size !== undefined && this.#size >= rotate.size)) {
			this.#rotate().catch((error: unknown) => this.broke(messageOf(error)));
		}
	}

	/** The file under way gets its name and a new one begins; what comes meanwhile waits. */
	async #rotate(): Promise<void> {
		if (!(await this.quiesce(LONGEST_WRITE_MS))) return;
		await this.finish();
		if (this.isOpen) this.connect();
	}

	protected disconnect(): void {
		this.#attempt += 1;
		clearInterval(this.#syncTimer);
		const file = this.#file;
		if (file === undefined) return;
		this.#file = undefined;
		// A write under way may still get there; one that failed was cut off.
		if (this.#writing !== undefined)
			for (const outgoing of this.outbox.unsettled) outgoing.mayHaveArrived = true;
		const written = this.#writing ?? Promise.resolve();
		this.#writing = undefined;
		written.finally(() => file.close().catch(() => undefined));
	}

	protected async finish(): Promise<void> {
		const file = this.#file;
		if (file === undefined) return;
		await this.#writing;
		if (this.#file !== file) return;
		this.#file = undefined;
		clearInterval(this.#syncTimer);
		try {
			await file.sync();
		} finally {
			await file.close();
		}
		await rename(
			`${this.#path}.part`,
			await freeName(this.#path, new Date(), this.settings.rotate !== undefined),
		);
	}
}

/** PATH itself when it is free and `dated` is false, else PATH with a time, and a number if that is taken too. */
async function freeName(path: string, time: Date, dated: boolean): Promise<string> {
	if (!dated && (await modified(path)) === undefined) return path;
	const extension = extname(path);
	const stem = path.slice(0, path.length - extension.length);
	const stamp = time.toISOString().replaceAll(/[-:]/g, '').replace('.', '');
	for (let number = 0; ; number += 1) {
		const name = `${stem}-${stamp}${number === 0 ? '' : `-${number}`}${extension}`;
		if ((await modified(name)) === undefined) return name;
	}
}

async function modified(path: string): Promise<Date | undefined> {
	try {
		return (await stat(path)).mtime;
	} catch (error) {
		if (codeOf(error) === 'ENOENT') return undefined;
		throw error;
	}
}
