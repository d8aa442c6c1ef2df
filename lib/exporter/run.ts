/**
 * One life of an exporter, from a start to its stop: joins the core's table, the poll scheduler, the delivery and
 * the collectors.
 *
 * Data comes from the core as batches of finished messages and leaves through sessions; through this file pass only
 * counters and rare events. Read `Delivery` and `Sessions` first.
 */
import type { EventEmitter } from 'node:events';
import { nativeConfig } from '../core/config.ts';
import {
	type NativeExporter,
	type NativeNames,
	type NativeNotice,
	type NativeStats,
	native,
} from '../core/native.ts';
import { AgentError, codeOf, messageOf, toError } from '../errors.ts';
import { checkedSet, NAMES_KINDS, type NamesKind } from '../names/sets.ts';
import { NamesFiles } from '../names/watch.ts';
import type { Settings } from '../options/options.ts';
import { checkStateFile } from '../options/state_file.ts';
import { type Amount, add, nothing } from '../transport/parcel.ts';
import { Delivery } from './delivery.ts';
import {
	type ExporterEvents,
	type ExporterState,
	type ExporterStats,
	Ledger,
	lossesOf,
	plannedInterval,
	tell,
} from './events.ts';
import { PollWarnings } from './poll_warnings.ts';
import { PollScheduler } from './scheduler.ts';
import { formatOf, Sessions } from './sessions.ts';
import { within } from './time_limit.ts';

const SUMMARY_MS = 1_000;
const LONGEST_SAVE_MS = 5_000;
const LARGEST_MESSAGE = 65_535;

/** One life of an exporter, from a start to its stop. */
export class Run {
	readonly ended: Promise<void>;
	readonly #settings: Settings;
	readonly #events: EventEmitter<ExporterEvents>;
	readonly #fatal: (error: Error) => void;
	readonly #sessions: Sessions;
	readonly #ledger = new Ledger();
	readonly #pollWarnings: PollWarnings;
	readonly #sets: ReadonlyMap<NamesKind, NativeNames>;
	readonly #files: NamesFiles;
	#native: NativeExporter | undefined;
	#scheduler: PollScheduler | undefined;
	#delivery: Delivery | undefined;
	#summaryTimer: NodeJS.Timeout | undefined;
	#lastTable: NativeStats | null = null;
	#lastSuccessfulPoll: number | null = null;
	#lastPollAttempt: number | null = null;
	#pollStartedAt = 0;
	/**
	 * What the core calls. The core's object keeps the function alive, so it must not keep the core's object alive once
	 * all is over, or neither were ever collected.
	 */
	readonly #waker = { call: () => this.#woken() };
	#saved: () => void = () => undefined;
	#stopped: Promise<void> | undefined;
	#started: { resolve(): void; reject(error: Error): void } | undefined;
	#end: () => void = () => undefined;

	/** `sets`: names in place of those of the options. */
	constructor(
		settings: Settings,
		sets: ReadonlyMap<NamesKind, NativeNames>,
		events: EventEmitter<ExporterEvents>,
		fatal: (error: Error) => void,
	) {
		this.#settings = settings;
		this.#sets = sets;
		this.#files = new NamesFiles({
			paths: Object.fromEntries(
				NAMES_KINDS.filter((kind) => typeof settings[kind] === 'string' && !sets.has(kind)).map((kind) => [
					kind,
					settings[kind],
				]),
			),
			changed: (_, set) => this.#guarded(() => this.#native?.setNames(set)),
			refused: (_, problem) =>
				this.#warn(
					'NAMES_FILE',
					`the names of a changed file are not used, the former ones stay: ${problem}`,
				),
		});
		this.#events = events;
		this.#fatal = fatal;
		this.#sessions = new Sessions(settings, events, (error) => this.#failed(error));
		this.#pollWarnings = new PollWarnings(settings, (code, message) => this.#warn(code, message));
		this.ended = new Promise((resolve) => {
			this.#end = resolve;
		});
	}

	async start(): Promise<void> {
		if (this.#settings.stateFile !== undefined) checkStateFile(this.#settings.stateFile);
		// It keeps the process alive as well: nothing of the core does.
		this.#summaryTimer = setInterval(() => this.#guarded(() => this.#summarize()), SUMMARY_MS);
		const waker = this.#waker;
		const names = await this.#names();
		if (this.#stopped !== undefined) throw stoppedEarly();
		const exporter = new (native().NativeExporter)(nativeConfig(this.#settings), names, () => waker.call());
		this.#native = exporter;
		// A format that cannot be is an error of the options, not of a session.
		exporter.addFormat(formatOf(this.#settings, LARGEST_MESSAGE));
		this.#delivery = new Delivery(exporter, this.#sessions.sessions, {
			mode: this.#settings.delivery,
			batchRecords: this.#settings.batchRecords,
			exported: (amount) => this.#ledger.addExported(amount),
			failed: (error) => this.#failed(error),
		});
		this.#scheduler = new PollScheduler({
			interval: plannedInterval(this.#settings),
			retryInterval: this.#settings.pollInterval,
			maxPollShare: this.#settings.maxPollShare,
			poll: () => {
				this.#pollStartedAt = performance.now();
				this.#guarded(() => exporter.poll());
			},
			stretched: (duration, interval) =>
				this.#warn(
					'POLL_STRETCHED',
					`a poll took ${Math.round(duration)} ms: polls are now up to ${Math.round(interval)} ms apart, so that they ` +
						`take at most ${this.#settings.maxPollShare * 100} % of the time (maxPollShare); a quicker one brings them back`,
				),
		});
		const firstPoll = new Promise<void>((resolve, reject) => {
			this.#started = { resolve, reject };
		});
		this.#delivery.start();
		this.#sessions.start(exporter, this.#delivery);
		this.#scheduler.start();
		await firstPoll;
	}

	stop(gracefully: boolean): Promise<void> {
		this.#stopped ??= this.#stop(gracefully).catch((error: unknown) => {
			this.#warn(codeOf(error) ?? 'ERR_STOP', `while stopping: ${messageOf(error)}`);
		});
		return this.#stopped;
	}

	async #stop(gracefully: boolean): Promise<void> {
		const exporter = this.#native;
		this.#files.close();
		this.#started?.reject(stoppedEarly());
		this.#scheduler?.stop();
		try {
			if (gracefully && exporter !== undefined) await this.#sendTheRest(exporter);
		} finally {
			// Whatever went wrong: nothing is left open, and nobody waits for ever.
			try {
				this.#delivery?.stop();
				clearInterval(this.#summaryTimer);
				// What they still hold fails here, and is rolled back before the rest is counted.
				this.#sessions.close();
				if (exporter !== undefined) await this.#countTheRest(exporter);
			} finally {
				exporter?.close();
				this.#native = undefined;
				this.#sessions.release();
				this.#waker.call = ignoreWake;
				this.#summarize();
				this.#end();
			}
		}
	}

	/** A last poll, and all that is unexported, as far as the grace period allows. */
	async #sendTheRest(exporter: NativeExporter): Promise<void> {
		let timer: NodeJS.Timeout | undefined;
		const grace = new Promise<void>((resolve) => {
			timer = setTimeout(resolve, this.#settings.gracePeriod);
		});
		try {
			// A poll that takes long leaves as much time for what is known already.
			await within(this.#settings.gracePeriod / 2, this.#scheduler?.last() ?? Promise.resolve());
			exporter.beginStop();
			this.#sessions.hurry();
			await Promise.race([this.#delivery?.flush(), grace]);
			this.#delivery?.stop();
			await Promise.race([this.#sessions.drain(), grace]);
		} finally {
			clearTimeout(timer);
		}
	}

	async #countTheRest(exporter: NativeExporter): Promise<void> {
		const before = sumOf(exporter.stats().losses);
		const after = sumOf(exporter.leftAtStop());
		await this.#save(exporter);
		this.#lastTable = exporter.stats();
		if (after.records > before.records) {
			const lost = `${after.records - before.records} records (${after.packets - before.packets} packets`;
			this.#warn(
				'LEFT_AT_STOP',
				`${lost}, ${after.octets - before.octets} octets) could not be sent before the end`,
			);
		}
	}

	/** Writes the state file, if there is one, and waits for it, but not for a broken disk. */
	async #save(exporter: NativeExporter): Promise<void> {
		if (this.#settings.stateFile === undefined) return;
		const saved = new Promise<void>((resolve) => {
			this.#saved = resolve;
		});
		exporter.save();
		await within(LONGEST_SAVE_MS, saved);
	}

	setNames(kind: NamesKind, set: NativeNames): void {
		this.#files.forget(kind);
		this.#native?.setNames(set);
	}

	/** Lists of the options, what files say now, and the setters' sets, which go before both. */
	async #names(): Promise<NativeNames[]> {
		const lists = NAMES_KINDS.flatMap((kind) => {
			const list = this.#settings[kind];
			return list === undefined || typeof list === 'string' ? [] : [checkedSet(kind, list)];
		});
		const files = await this.#files.open();
		return [...lists, ...files, ...this.#sets.values()];
	}

	renewCertificates(): void {
		this.#sessions.renewCertificates();
	}

	ownsEndpoint(address: string, port: number): boolean {
		return this.#sessions.ownsEndpoint(address, port);
	}

	stats(state: ExporterState): ExporterStats {
		const table = this.#native?.stats() ?? this.#lastTable;
		const collectors = this.#sessions.stats();
		return {
			state,
			table,
			pollIntervalEffective: this.#scheduler?.effectiveInterval ?? plannedInterval(this.#settings),
			lastSuccessfulPoll: this.#lastSuccessfulPoll,
			lastPollAttempt: this.#lastPollAttempt,
			exportLag: this.#delivery?.lagMs ?? 0,
			batchesInFlight: this.#delivery?.batches ?? 0,
			lastReloadSuccessful: this.#sessions.lastReloadSuccessful,
			exported: { ...this.#ledger.exported },
			losses: lossesOf(table?.losses ?? [], collectors),
			collectors,
		};
	}

	#woken(): void {
		this.#guarded(() => {
			for (const notice of this.#native?.notices() ?? []) this.#noticed(notice);
			this.#delivery?.wake();
		});
	}

	/** Timers and the core call in here, and none of them could do anything with an error. */
	#guarded(call: () => void): void {
		try {
			call();
		} catch (error) {
			this.#failed(toError(error));
		}
	}

	#noticed(notice: NativeNotice): void {
		const { kind, code, message = '', poll, asked } = notice;
		if (kind === 'poll' && poll !== undefined) {
			this.#lastPollAttempt = Date.now();
			if (poll.complete) {
				this.#lastSuccessfulPoll = this.#lastPollAttempt;
				this.#started?.resolve();
			}
			if (asked) this.#scheduler?.finished(true, poll.durationMs);
			const table = this.#native?.stats();
			if (table !== undefined) this.#pollWarnings.polled(poll, table);
			tell(this.#events, 'poll', poll);
		} else if (kind === 'pollFailed') {
			this.#lastPollAttempt = Date.now();
			const error = new AgentError(code ?? 'ERR_NETLINK', message);
			if (code === 'ERR_PERMISSION') this.#started?.reject(error);
			if (asked) this.#scheduler?.finished(false, performance.now() - this.#pollStartedAt);
			this.#warn(error.code, `a poll failed: ${message}`);
		} else if (kind === 'saved') {
			this.#saved();
		} else if (kind === 'warning') {
			this.#warn(code ?? 'WARNING', message);
		} else if (kind === 'fatal') {
			this.#failed(new AgentError(code ?? 'ERR_INTERNAL', message));
		}
	}

	#failed(error: Error): void {
		if (this.#stopped !== undefined) return;
		this.#started?.reject(error);
		this.#fatal(error);
	}

	#summarize(): void {
		const exported = this.#ledger.takeExported();
		if (exported !== null) tell(this.#events, 'export', exported);
		const { losses } = this.stats('running');
		const news = this.#ledger.takeLosses(losses);
		if (news.length > 0) tell(this.#events, 'loss', news);
	}

	#warn(code: string, message: string): void {
		tell(this.#events, 'warning', { code, message });
	}
}

/** Made here, because a function keeps alive all that is in scope where it is made. */
function ignoreWake(): void {}

function stoppedEarly(): AgentError {
	return new AgentError('ERR_STOPPED', 'stopped before the first complete poll');
}

function sumOf(losses: readonly Amount[]): Amount {
	const sum = nothing();
	for (const loss of losses) add(sum, loss);
	return sum;
}
