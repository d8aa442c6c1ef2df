/**
 * Which of a name's addresses is connected to: the next one is tried when the one before it has failed, or has not
 * answered for a quarter of a second while the attempt goes on (RFC 8305). The first to answer wins.
 */
import { messageOf } from '../errors.ts';
import type { Address } from './resolve.ts';

/** RFC 8305 section 5: the recommended connection attempt delay. */
const NEXT_AFTER_MS = 250;

export interface Dialled<T> {
	readonly address: Address;
	readonly connection: T;
}

export interface Dialling<T> {
	/** Rejects, with nothing left behind, when it fails or `signal` aborts. */
	dial(address: Address, signal: AbortSignal): Promise<T>;
	/** For one that was too late. */
	drop(connection: T): void;
	/** Hears of each address that failed. */
	failed(address: Address, reason: string): void;
	/** Calls all of it off. */
	signal: AbortSignal;
	/** Milliseconds. Default: 250. */
	nextAfter?: number;
}

/** Undefined: none of them answered, or it was called off. Never rejects. */
export function dialFirst<T>(
	addresses: readonly Address[],
	{ dial, drop, failed, signal, nextAfter = NEXT_AFTER_MS }: Dialling<T>,
): Promise<Dialled<T> | undefined> {
	return new Promise((resolve) => {
		const waiting = [...addresses];
		const others = new AbortController();
		let underWay = 0;
		let over = false;
		let timer: NodeJS.Timeout | undefined;
		const end = (won: Dialled<T> | undefined) => {
			if (over) return;
			over = true;
			clearTimeout(timer);
			signal.removeEventListener('abort', calledOff);
			others.abort();
			resolve(won);
		};
		const calledOff = () => end(undefined);
		const next = () => {
			clearTimeout(timer);
			const address = waiting.shift();
			if (address === undefined) {
				if (underWay === 0) end(undefined);
				return;
			}
			underWay += 1;
			if (waiting.length > 0) timer = setTimeout(next, nextAfter);
			dial(address, others.signal).then(
				(connection) => {
					if (over) drop(connection);
					else end({ address, connection });
				},
				(error: unknown) => {
					underWay -= 1;
					if (over) return;
					failed(address, messageOf(error));
					next();
				},
			);
		};
		signal.addEventListener('abort', calledOff);
		if (signal.aborted) calledOff();
		else next();
	});
}
