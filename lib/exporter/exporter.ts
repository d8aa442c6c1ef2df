/**
 * The exporter as programs see it: `start`, `stop`, `stats` and typed events around one `Run` at a time.
 */
import { EventEmitter } from 'node:events';
import { type NativeNames, native } from '../core/native.ts';
import { AgentError, codeOf, messageOf, OptionError, toError } from '../errors.ts';
import { canName, expectedFields, expectedOption } from '../names/elements.ts';
import { checkedSet, type NamesKind } from '../names/sets.ts';
import { checkObject, resolveOptions, type Settings } from '../options/options.ts';
import type { ExporterOptions, NetworkInput, PodInput, PolicyRuleInput, ServiceInput } from '../types.ts';
import { type ExporterEvents, type ExporterState, type ExporterStats, statsBefore, tell } from './events.ts';
import { Run } from './run.ts';
import { formatOf } from './sessions.ts';

/** Options that were resolved already: those of `exporterOf`. */
const RESOLVED = new WeakMap<object, Settings>();

/** What the rest of this package needs of an exporter and nobody else. */
export let settingsOf: (exporter: FlowExporter) => Settings;
/** Whether this address and port is the near end of one of the exporter's own sessions. */
export let ownsEndpoint: (exporter: FlowExporter, address: string, port: number) => boolean;

/** An exporter with options that were resolved already. */
export function exporterOf(settings: Settings): FlowExporter {
	const options = {};
	RESOLVED.set(options, settings);
	return new FlowExporter(options);
}

/**
 * Exports this machine's connections: reads the kernel's table, and sends a record for each that is due to the collectors. It needs
 * CAP_NET_ADMIN, and one exporter stands for one table.
 *
 * @example
 * const exporter = new FlowExporter({ collectors: ['tcp://collector.example'] });
 * exporter.on('loss', (losses) => console.log(losses));
 * await exporter.start();
 */
export class FlowExporter extends EventEmitter<ExporterEvents> {
	readonly #settings: Settings;
	readonly #signal: AbortSignal | undefined;
	/** Those of setters, also for the next start. */
	readonly #sets = new Map<NamesKind, NativeNames>();
	#state: ExporterState = 'new';
	#run: Run | undefined;
	#starting: Promise<void> | undefined;
	/** The start that waits for a stop to end, unless another stop has called it off. */
	#waiting: object | undefined;
	#stopping: Promise<void> | undefined;

	static {
		settingsOf = (exporter) => exporter.#settings;
		ownsEndpoint = (exporter, address, port) => exporter.#run?.ownsEndpoint(address, port) ?? false;
	}

	/** Throws `OptionError` (`ERR_OPTION`) for the first option that cannot be used. Opens nothing. */
	constructor(options: ExporterOptions = {}) {
		super();
		checkObject(options);
		const { signal, ...values } = options;
		if (signal !== undefined && !(signal instanceof AbortSignal))
			throw new OptionError('signal', signal, 'an AbortSignal');
		this.#signal = signal;
		this.#settings =
			RESOLVED.get(options) ?? resolveOptions([{ values, nameOf: (option) => option }], 'javascript');
		checkSizes(this.#settings);
	}

	/**
	 * Opens the kernel, begins to poll and to connect. Resolves after the first complete poll and never waits for a
	 * collector; a kernel module or namespace that is not there yet is waited for. Rejects with a `code` when the
	 * permission is missing or the state file cannot be written, and with ERR_STOPPED when it was stopped meanwhile. Whoever
	 * listens to `error` hears of it there, too, and need not wait for the promise. Called again while it runs, it gives the same
	 * promise.
	 */
	start(): Promise<void> {
		if (this.#starting !== undefined) return this.#starting;
		const starting = new Promise<void>((resolve, reject) => {
			this.#start().then(resolve, (error: unknown) => {
				if (this.#starting === starting) this.#starting = undefined;
				// Otherwise whoever does not wait for the start never hears of it: Node tells of a rejection that nobody handles.
				if (this.#isHeard(error)) starting.catch(() => undefined);
				reject(error);
			});
		});
		this.#starting = starting;
		return starting;
	}

	/** Whether a start that failed needs no hearing: `error` tells of it, or the owner has stopped it. */
	#isHeard(error: unknown): boolean {
		return (
			this.listenerCount('error') > 0 || codeOf(error) === 'ERR_STOPPED' || this.#signal?.aborted === true
		);
	}

	async #start(): Promise<void> {
		if (this.#stopping !== undefined) {
			const waiting = {};
			this.#waiting = waiting;
			await this.#stopping;
			if (this.#waiting !== waiting) throw new AgentError('ERR_STOPPED', 'stopped before it had started');
			this.#waiting = undefined;
		}
		this.#signal?.throwIfAborted();
		this.#state = 'starting';
		let told = false;
		const run = new Run(this.#settings, this.#sets, this, (error) => {
			told = true;
			this.#failed(error);
		});
		this.#run = run;
		const abort = () => void this.stop();
		this.#signal?.addEventListener('abort', abort, { once: true });
		run.ended.finally(() => this.#signal?.removeEventListener('abort', abort));
		try {
			await run.start();
			if (this.#state === 'starting') this.#state = 'running';
		} catch (error) {
			await run.stop(false);
			if (this.#run === run && this.#stopping === undefined) this.#state = 'stopped';
			if (!told && codeOf(error) !== 'ERR_STOPPED' && this.listenerCount('error') > 0)
				tell(this, 'error', toError(error));
			throw error;
		}
	}

	/**
	 * One last poll, what is unexported is sent, connections are closed; all of it within the grace period, after
	 * which what is left counts as lost. Never rejects; called again, it gives the same promise.
	 */
	stop(): Promise<void> {
		if (this.#waiting !== undefined) {
			this.#waiting = undefined;
			this.#starting = undefined;
		}
		if (this.#stopping !== undefined) return this.#stopping;
		const run = this.#run;
		if (run === undefined || this.#state === 'stopped') return Promise.resolve();
		this.#state = 'stopping';
		this.#stopping = run.stop(true).then(() => {
			this.#state = 'stopped';
			this.#stopping = undefined;
		});
		this.#starting = undefined;
		return this.#stopping;
	}

	/** `stop()`, for `await using`. */
	[Symbol.asyncDispose](): Promise<void> {
		return this.stop();
	}

	/**
	 * Replaces all Pods, at any time and any number of times. Connections are named by them at first sight; of those that are in the table,
	 * an end that was unknown is named in the next record, and one that has a name keeps it. Throws `OptionError` for a list that
	 * cannot be used, and where records have no elements for names; the former Pods stay then.
	 */
	setPods(pods: readonly PodInput[]): void {
		this.#setNames('pods', pods);
	}

	/** Replaces all Services that connections go to, as `setPods` replaces Pods. */
	setServices(services: readonly ServiceInput[]): void {
		this.#setNames('services', services);
	}

	/**
	 * Replaces all rules of network policies, as `setPods` replaces Pods. A rule that is gone stays known for five seconds, or a poll
	 * interval where that is longer. Numbers in connections' labels that no rule has are counted and warned of.
	 */
	setPolicyRules(rules: readonly PolicyRuleInput[]): void {
		this.#setNames('policyRules', rules);
	}

	/** Replaces all networks that name ends that are no Pods, as `setPods` replaces Pods; a Pod's name takes the place of a network's. */
	setNetworks(networks: readonly NetworkInput[]): void {
		this.#setNames('networks', networks);
	}

	#setNames(kind: NamesKind, list: unknown): void {
		const { fields } = this.#settings;
		if (!canName(kind, this.#settings)) {
			throw fields === undefined
				? new OptionError(kind, undefined, expectedOption(kind))
				: new OptionError('fields', fields, expectedFields(kind));
		}
		const set = checkedSet(kind, list);
		this.#run?.setNames(kind, set);
		this.#sets.set(kind, set);
	}

	/** A snapshot; counters count from the last `start()`. */
	stats(): ExporterStats {
		return this.#run?.stats(this.#state) ?? statsBefore(this.#settings);
	}

	/** Reads certificates anew: sessions over TLS move to new connections without losing anything. */
	renewCertificates(): void {
		this.#run?.renewCertificates();
	}

	#failed(error: Error): void {
		const duringStart = this.#state === 'starting';
		this.#state = 'stopping';
		this.#starting = undefined;
		this.#stopping = (this.#run?.stop(false) ?? Promise.resolve()).then(() => {
			this.#state = 'stopped';
			this.#stopping = undefined;
			this.#tellEnd(error, duringStart);
		});
	}

	/** During a start its promise tells, too. */
	#tellEnd(error: Error, duringStart: boolean): void {
		if (this.listenerCount('error') > 0) tell(this, 'error', error);
		else if (!duringStart)
			process.emitWarning(`the exporter has stopped: ${error.message}`, {
				code: codeOf(error) ?? 'ERR_EXPORTER',
			});
	}
}

/** Only the core knows what its templates take. It is asked where a size was given: nothing is loaded otherwise. */
function checkSizes(settings: Settings): void {
	for (const [index, { maxMessageSize }] of settings.collectors.entries()) {
		if (maxMessageSize === undefined) continue;
		try {
			native().checkFormat(formatOf(settings, maxMessageSize));
		} catch (error) {
			if (codeOf(error) !== 'ERR_OPTION') throw error;
			throw new OptionError(
				`collectors[${index}].maxMessageSize`,
				maxMessageSize,
				`room for every template and record: ${messageOf(error)}`,
			);
		}
	}
}
