/** From one start to its stop: the listeners, the files, and the intake behind them. */
import type { TlsOptions } from 'node:tls';
import { native } from '../core/native.ts';
import { AgentError } from '../errors.ts';
import { formatTarget } from '../options/target.ts';
import { readCertificates } from './certificates.ts';
import { listenOnDatagrams } from './datagram_listener.ts';
import { checkFile, openFile } from './file_source.ts';
import type { Intake } from './intake.ts';
import type { Source } from './source.ts';
import { listenOnStream, type StreamListener } from './stream_listener.ts';

export class Receiving {
	readonly intake: Intake;
	readonly #sources = new Set<Source>();
	readonly #tls: StreamListener[] = [];
	readonly #life = new AbortController();

	constructor(intake: Intake) {
		this.intake = intake;
	}

	get addresses(): string[] {
		return [...this.#sources].flatMap(({ address }) => (address === null ? [] : [formatTarget(address)]));
	}

	/** Binds every address. Rejects with a code, with ERR_STOPPED when it was closed meanwhile; then it is to be closed again. */
	async start(): Promise<void> {
		// Not at the first octet: a missing core is an error of the start.
		native();
		const { listen, files } = this.intake.settings;
		for (const [index, path] of files.entries()) await checkFile(path, `files[${index}]`);
		const overTls = listen.some(({ kind }) => kind === 'tls');
		const credentials = overTls ? await readCertificates(this.intake.settings) : {};
		for (const index of listen.keys()) {
			this.#checkOpen();
			await this.#listen(index, credentials).catch((error: unknown) => {
				this.#checkOpen();
				throw error;
			});
		}
		this.#checkOpen();
	}

	/** Reads the files one after the other. Gives the first error among them, or undefined. */
	async readFiles(): Promise<AgentError | undefined> {
		let failure: AgentError | undefined;
		for (const path of this.intake.settings.files) {
			if (this.#life.signal.aborted) break;
			const source = openFile(path, this.intake);
			this.#sources.add(source);
			const ending = await source.done;
			this.#sources.delete(source);
			if (ending !== null) failure ??= new AgentError(ending.code, `${path}: ${ending.error}`);
		}
		return failure;
	}

	/** Rejects, and changes nothing, where the certificates cannot be used. */
	async renewCertificates(): Promise<void> {
		if (this.#tls.length === 0) return;
		const credentials = await readCertificates(this.intake.settings);
		for (const listener of this.#tls) listener.renew(credentials);
	}

	/** Holds back all who can be held back, or lets them go on. */
	hold(full: boolean): void {
		this.intake.hold(full);
		for (const source of this.#sources) {
			if (full) source.pause();
			else source.resume();
		}
	}

	async close(): Promise<void> {
		this.#life.abort();
		this.intake.dispose();
		const sources = [...this.#sources];
		this.#sources.clear();
		await Promise.all(sources.map((source) => source.close()));
	}

	async #listen(index: number, credentials: TlsOptions): Promise<void> {
		const target = this.intake.settings.listen[index];
		if (target === undefined) return;
		const where = `listen[${index}] ${formatTarget(target)}`;
		const { signal } = this.#life;
		let source: Source;
		if (target.kind === 'udp') source = await listenOnDatagrams(target, where, this.intake, signal);
		else {
			const listener = await listenOnStream(target, where, credentials, this.intake, signal);
			if (target.kind === 'tls') this.#tls.push(listener);
			source = listener;
		}
		this.#sources.add(source);
	}

	#checkOpen(): void {
		if (this.#life.signal.aborted) throw new AgentError('ERR_STOPPED', 'stopped before it had started');
	}
}
