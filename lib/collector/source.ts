import type { NetworkTarget } from '../options/target.ts';

/** Something that octets come from: a listener or a file. */
export interface Source {
	/** As bound, with the real port; null for a file. */
	readonly address: NetworkTarget | null;
	/** Holds back whoever can be held back. */
	pause(): void;
	resume(): void;
	/** Closes the source and all of its sessions. */
	close(): Promise<void>;
}
