/**
 * The exporter as programs see it: `start`, `stop`, `stats` and typed events around one `Run` at a time.
 */
import { EventEmitter } from 'node:events';
import { AgentError, codeOf, OptionError, toError } from '../errors.ts';
import { EXPECTED_FIELDS, haveNames } from '../names/pods.ts';
import {
	type OptionsInput,
	type Pod,
	type PodInput,
	resolveOptions,
	resolvePods,
	type Settings,
} from '../options/options.ts';
import { type ExporterEvents, type ExporterState, type ExporterStats, tell } from './events.ts';
import { Run } from './run.ts';

/** Options of `new FlowExporter()`: those of `run` in camelCase; a number is milliseconds. */
export interface ExporterOptions extends OptionsInput {
	/** Stops the exporter when it aborts. */
	signal?: AbortSignal | undefined;
}

const NOT_CONFIGURED =
	'the option pods, such as pods: [], before setPods(): without it records of the standard profile have no elements for names';

export class FlowExporter extends EventEmitter<ExporterEvents> {
	readonly settings: Settings;
	readonly #signal: AbortSignal | undefined;
	/** Those of `setPods`, also for the next start. */
	#pods: Pod[] | undefined;
	#state: ExporterState = 'new';
	#run: Run | undefined;
	#starting: Promise<void> | undefined;
	/** The start that waits for a stop to end, unless another stop has called it off. */
	#waiting: object | undefined;
	#stopping: Promise<void> | undefined;

	/** Throws `OptionError`. `settings` is for callers that have resolved the options themselves. */
	constructor(options: ExporterOptions = {}, settings?: Settings) {
		super();
		const { signal, ...values } = options;
		this.#signal = signal;
		this.settings = settings ?? resolveOptions([{ values, nameOf: (option) => option }], 'javascript');
	}

	/**
	 * Opens the kernel, begins to poll and to connect. Resolves after the first complete poll and never waits for a
	 * collector; a kernel module or namespace that is not there yet is waited for. Rejects with a `code` when the
	 * permission is missing or the state file cannot be written, which `error` tells, too, and with ERR_STOPPED when it was stopped meanwhile. Called again
	 * while it runs, it gives the same promise.
	 */
	start(): Promise<void> {
		if (this.#starting !== undefined) return this.#starting;
		const starting = this.#start();
		this.#starting = starting;
		// Whoever does not wait for the start hears of its failure by `error`.
		starting.catch(() => {
			if (this.#starting === starting) this.#starting = undefined;
		});
		return starting;
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
		const settings = this.#pods === undefined ? this.settings : { ...this.settings, pods: this.#pods };
		const run = new Run(settings, this, (error) => {
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
			if (!told && codeOf(error) !== 'ERR_STOPPED') this.#tellEnd(toError(error));
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

	[Symbol.asyncDispose](): Promise<void> {
		return this.stop();
	}

	/**
	 * Replaces all Pods, at any time and any number of times. Connections that begin from now on are named by them; those
	 * that are in the table keep the names that they have, or have not. Throws `OptionError` for a list that cannot be used,
	 * and where records have no elements for names; the former Pods stay then.
	 */
	setPods(pods: readonly PodInput[]): void {
		const { fields } = this.settings;
		if (!haveNames(this.settings)) {
			throw fields === undefined
				? new OptionError('pods', undefined, NOT_CONFIGURED)
				: new OptionError('fields', fields, EXPECTED_FIELDS);
		}
		const checked = resolvePods(pods);
		this.#run?.setPods(checked);
		this.#pods = checked;
	}

	stats(): ExporterStats {
		return this.#run?.stats(this.#state) ?? new Run(this.settings, this, () => undefined).stats(this.#state);
	}

	/** Reads certificates anew: sessions over TLS move to new connections without losing anything. */
	renewCertificates(): void {
		this.#run?.renewCertificates();
	}

	/** Whether this address and port is the near end of one of the exporter's own sessions. */
	ownsEndpoint(address: string, port: number): boolean {
		return this.#run?.ownsEndpoint(address, port) ?? false;
	}

	#failed(error: Error): void {
		this.#state = 'stopping';
		this.#starting = undefined;
		this.#stopping = (this.#run?.stop(false) ?? Promise.resolve()).then(() => {
			this.#state = 'stopped';
			this.#stopping = undefined;
			this.#tellEnd(error);
		});
	}

	#tellEnd(error: Error): void {
		if (this.listenerCount('error') > 0) tell(this, 'error', error);
		else
			process.emitWarning(`the exporter has stopped: ${error.message}`, {
				code: codeOf(error) ?? 'ERR_EXPORTER',
			});
	}
}
