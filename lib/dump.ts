/** One pass over the kernel's table: connections as they are now, by the names that records have. */
import { parseLines } from './collector/collector.ts';
import { native } from './core/native.ts';
import { selectionOf } from './core/selection.ts';
import { AgentError } from './errors.ts';
import { checkObject, resolveSelection, type Settings } from './options/options.ts';
import type { Connection, ConnectionFilters } from './types.ts';

/**
 * Connections in the kernel's order, a receive buffer at a time. Rejects with a `code`: ERR_PERMISSION,
 * ERR_NO_CONNTRACK, or ERR_INCOMPLETE when the kernel did not give the whole table.
 */
export async function* dump(filters: ConnectionFilters = {}): AsyncGenerator<Connection[], void, void> {
	checkObject(filters);
	const settings = resolveSelection([{ values: filters, nameOf: (option) => option }], 'javascript');
	for await (const json of dumpLines(settings)) yield parseLines<Connection>(json);
}

/** The same as JSON text. */
export async function* dumpLines(settings: Settings): AsyncGenerator<Buffer, void, void> {
	let wake: () => void = () => undefined;
	const running = new (native().NativeDump)(selectionOf(settings), () => wake());
	// The core's wake-up does not keep the process alive; this does.
	const keepAlive = setInterval(() => undefined, 60_000);
	try {
		for (;;) {
			const woken = new Promise<void>((resolve) => {
				wake = resolve;
			});
			const { json, done, error, code } = running.read();
			yield* json;
			if (error != null) throw new AgentError(code ?? 'ERR_NETLINK', error);
			if (done) return;
			if (json.length === 0) await woken;
		}
	} finally {
		clearInterval(keepAlive);
		running.close();
	}
}
