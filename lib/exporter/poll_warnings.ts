/** What a poll shows that its owner should know of: a full table, and a selection that selects nothing. */

import type { NativeStats } from '../core/native.ts';
import type { Settings } from '../options/options.ts';
import type { PollSummary } from './events.ts';

export class PollWarnings {
	readonly #zones: readonly number[];
	readonly #warn: (code: string, message: string) => void;
	#refusing = false;
	/** Something was selected, or it was said that nothing is: quiet zones later on are no mistake. */
	#selectionKnown = false;

	constructor({ zones }: Pick<Settings, 'zones'>, warn: (code: string, message: string) => void) {
		this.#zones = zones;
		this.#warn = warn;
	}

	/** `table`: the core's counters after this poll. */
	polled(poll: PollSummary, table: Pick<NativeStats, 'refusedConnections' | 'maxConnections'>): void {
		this.#tellRefused(table);
		if (poll.complete && this.#zones.length > 0 && !this.#selectionKnown) this.#tellNothingSelected(poll);
	}

	/** Again whenever it begins. */
	#tellRefused({
		refusedConnections,
		maxConnections,
	}: Pick<NativeStats, 'refusedConnections' | 'maxConnections'>): void {
		if (refusedConnections > 0 && !this.#refusing) {
			this.#warn(
				'TABLE_FULL',
				`${refusedConnections} connections are left out: the table holds at most ${maxConnections}`,
			);
		}
		this.#refusing = refusedConnections > 0;
	}

	/** An empty table says nothing of the zones. */
	#tellNothingSelected({ ipv4, ipv6, kernelEntries }: PollSummary): void {
		const selected = ipv4 + ipv6;
		this.#selectionKnown = selected > 0 || kernelEntries > 0;
		if (selected > 0 || kernelEntries === 0) return;
		const zones = `${this.#zones.length === 1 ? 'zone' : 'zones'} ${this.#zones.join(', ')}`;
		this.#warn(
			'NOTHING_SELECTED',
			`none of the ${kernelEntries} entries in the kernel's table is selected in the ${zones}: ` +
				'if other zones are meant, give them with --zone (zones); "conntrack-ipfix dump" shows those of all entries',
		);
	}
}
