/**
 * SIGINT and SIGTERM: the first one asks to stop, a second one ends the process at once with 128 + its number.
 * Ctrl-C reaches every process of the terminal, and npm and `unshare` pass it on as well: copies within half a
 * second are one signal.
 */
import { constants } from 'node:os';
import { exitAtOnce } from './exit.ts';

const COPIES_MS = 500;

/** Returns the function that takes the handlers off again. */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void): () => void {
	let askedAt: number | undefined;
	const handle = (signal: NodeJS.Signals) => {
		const now = performance.now();
		if (askedAt === undefined) {
			askedAt = now;
			stop(signal);
		} else if (now - askedAt >= COPIES_MS) {
			exitAtOnce(128 + constants.signals[signal]);
		}
	};
	const signals = ['SIGINT', 'SIGTERM'] as const;
	for (const signal of signals) process.on(signal, handle);
	return () => {
		for (const signal of signals) process.off(signal, handle);
	};
}
