/** What the exporter tells: its events, its snapshot, and the sums between two summaries. */
import type { EventEmitter } from 'node:events';
import type { NativeLoss } from '../core/native.ts';
import type { Settings } from '../options/options.ts';
import type { Amount } from '../transport/parcel.ts';
import type { ExporterStats, ExportSummary, LossSummary, SessionStats } from '../types.ts';

export type { ExporterEvents, ExporterState, ExporterStats, LossSummary, PollSummary } from '../types.ts';

/**
 * Tells whoever listens. A listener that throws is not ours to handle and must not break what tells it: its error is
 * thrown again in the next tick, as an uncaught one.
 */
export function tell<Events extends Record<keyof Events, unknown[]>, Name extends keyof Events & string>(
	events: EventEmitter<Events>,
	name: Name,
	...told: Events[Name]
): void {
	try {
		// The emitter's own type cannot follow a name that is not fixed.
		(events as EventEmitter).emit(name, ...told);
	} catch (error) {
		process.nextTick(() => {
			throw error;
		});
	}
}

/** From one poll's start to the next: with events the kernel tells by itself, and what is left of polling is the resync. */
export function plannedInterval({ source, pollInterval, resyncInterval }: Settings): number {
	return source === 'events' ? resyncInterval : pollInterval;
}

/** What an exporter says that was never started: nothing is made for it. */
export function statsBefore(settings: Settings): ExporterStats {
	const { collectors } = settings;
	return {
		state: 'new',
		table: null,
		pollIntervalEffective: plannedInterval(settings),
		lastSuccessfulPoll: null,
		lastPollAttempt: null,
		exportLag: 0,
		batchesInFlight: 0,
		lastReloadSuccessful: true,
		exported: { records: 0, packets: 0, octets: 0 },
		losses: [],
		collectors: collectors.map(({ name }) => ({
			name,
			state: 'closed',
			lastError: null,
			unsettledBytes: 0,
			sentBytes: 0,
			sentMessages: 0,
			exportedRecords: 0,
			settledBytes: 0,
			duplicateRecords: 0,
			connections: 0,
			certificateExpiry: null,
			lost: [],
		})),
	};
}

/** Exports and losses as totals, and what of them was not told yet. */
export class Ledger {
	readonly exported: Amount = { records: 0, packets: 0, octets: 0 };
	#told: Amount = { records: 0, packets: 0, octets: 0 };
	readonly #toldLosses = new Map<string, Amount>();

	addExported(amount: Amount): void {
		this.exported.records += amount.records;
		this.exported.packets += amount.packets;
		this.exported.octets += amount.octets;
	}

	/** Null: nothing new. */
	takeExported(): ExportSummary | null {
		const news = minus(this.exported, this.#told);
		this.#told = { ...this.exported };
		return news.records > 0 ? news : null;
	}

	/** What of `losses` is new. */
	takeLosses(losses: readonly LossSummary[]): LossSummary[] {
		const news: LossSummary[] = [];
		for (const loss of losses) {
			const key = `${loss.collector ?? ''}\n${loss.reason}`;
			const difference = minus(loss, this.#toldLosses.get(key) ?? { records: 0, packets: 0, octets: 0 });
			this.#toldLosses.set(key, { records: loss.records, packets: loss.packets, octets: loss.octets });
			if (!isNothing(difference))
				news.push({ reason: loss.reason, collector: loss.collector, ...difference });
		}
		return news;
	}
}

/** The table's losses and each collector's own, in one list. */
export function lossesOf(table: readonly NativeLoss[], collectors: readonly SessionStats[]): LossSummary[] {
	return [
		...table.map((loss) => ({ ...loss, collector: null })),
		...collectors.flatMap(({ name, lost }) => lost.map((loss) => ({ ...loss, collector: name }))),
	].filter((loss) => !isNothing(loss));
}

/** What a refused connection moves later is lost without another record. */
function isNothing({ records, packets, octets }: Amount): boolean {
	return records === 0 && packets === 0 && octets === 0;
}

function minus(total: Amount, told: Amount): Amount {
	return {
		records: total.records - told.records,
		packets: total.packets - told.packets,
		octets: total.octets - told.octets,
	};
}
