/** Files that names are read from: once at the start, and again when they have changed. */
import { messageOf } from '../errors.ts';
import { fileSet, NAMES_KINDS, type NamesKind } from './sets.ts';

const CHECK_MS = 5_000;

type FileSet = NonNullable<Awaited<ReturnType<typeof fileSet>>['set']>;

export interface NamesFilesOptions {
	/** The file of each kind that has one. */
	paths: Partial<Record<NamesKind, string>>;
	/** A file has changed, and this is what it says now. */
	changed(kind: NamesKind, set: FileSet): void;
	/** A changed file cannot be used: the former names stay. Said once for each state of it. */
	refused(kind: NamesKind, problem: string): void;
}

export class NamesFiles {
	readonly #options: NamesFilesOptions;
	readonly #texts = new Map<NamesKind, string>();
	readonly #problems = new Map<NamesKind, string>();
	#timer: NodeJS.Timeout | undefined;
	#looking = false;

	constructor(options: NamesFilesOptions) {
		this.#options = options;
	}

	/** All sets as they are now; rejects when one cannot be used. Then it looks for changes, until `close`. */
	async open(): Promise<FileSet[]> {
		const sets: FileSet[] = [];
		for (const [kind, path] of this.#files()) {
			const { text, set } = await fileSet(kind, path);
			this.#texts.set(kind, text);
			if (set !== undefined) sets.push(set);
		}
		if (this.#files().length > 0) this.#timer = setInterval(() => void this.look(), CHECK_MS).unref();
		return sets;
	}

	close(): void {
		clearInterval(this.#timer);
	}

	/** A setter has given other names: the file is none any more. */
	forget(kind: NamesKind): void {
		delete this.#options.paths[kind];
	}

	/** Looks at the files, unless that is under way. */
	async look(): Promise<void> {
		if (this.#looking) return;
		this.#looking = true;
		try {
			for (const [kind, path] of this.#files()) await this.#lookAt(kind, path);
		} finally {
			this.#looking = false;
		}
	}

	async #lookAt(kind: NamesKind, path: string): Promise<void> {
		try {
			const { text, set } = await fileSet(kind, path, this.#texts.get(kind));
			this.#problems.delete(kind);
			this.#texts.set(kind, text);
			if (set !== undefined && this.#options.paths[kind] === path) this.#options.changed(kind, set);
		} catch (error) {
			const problem = messageOf(error);
			if (this.#problems.get(kind) === problem) return;
			this.#problems.set(kind, problem);
			this.#options.refused(kind, problem);
		}
	}

	#files(): Array<[NamesKind, string]> {
		return NAMES_KINDS.flatMap((kind): Array<[NamesKind, string]> => {
			const path = this.#options.paths[kind];
			return path === undefined ? [] : [[kind, path]];
		});
	}
}
