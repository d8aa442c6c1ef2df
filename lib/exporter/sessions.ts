/**
 * The sessions to all collectors, with what they need of the core and whom they tell.
 *
 * Parcels pass from `Delivery` to the sessions directly; back come `settled` and `failed`, which go on to the delivery,
 * and rare events, which become the exporter's. Read `SessionHost` and `SessionListener` (transport/session_host.ts).
 */
import type { EventEmitter } from 'node:events';
import { type NativeExporter, native, type OwnSession } from '../core/native.ts';
import { AgentError } from '../errors.ts';
import { haveNames } from '../names/elements.ts';
import type { Settings } from '../options/options.ts';
import { createSession } from '../transport/create.ts';
import { add, nothing, type Parcel } from '../transport/parcel.ts';
import type { Session } from '../transport/session.ts';
import type { SessionHost, SessionListener, SessionStats } from '../transport/session_host.ts';
import type { Delivery } from './delivery.ts';
import { type ExporterEvents, tell } from './events.ts';

export class Sessions implements SessionHost, SessionListener {
	readonly window: number;
	readonly sessions: readonly Session[];
	readonly #settings: Settings;
	readonly #events: EventEmitter<ExporterEvents>;
	readonly #failed: (error: Error) => void;
	readonly #formats = new Map<number, number>();
	readonly #own = new Map<string, OwnSession>();
	readonly #startedAt = Date.now();
	#native: NativeExporter | undefined;
	#delivery: Delivery | undefined;
	/** Whose changed certificates could not be used. */
	readonly #refusing = new Set<Session>();

	constructor(settings: Settings, events: EventEmitter<ExporterEvents>, failed: (error: Error) => void) {
		this.#settings = settings;
		this.#events = events;
		this.#failed = failed;
		this.window = settings.window;
		this.sessions = settings.collectors.map((collector) => createSession(collector, this, this));
	}

	/** False after changed certificates could not be used by one of the sessions, until it could use some. */
	get lastReloadSuccessful(): boolean {
		return this.#refusing.size === 0;
	}

	start(exporter: NativeExporter, delivery: Delivery): void {
		this.#native = exporter;
		this.#delivery = delivery;
		if (this.sessions.length === 0) {
			const message = 'nothing is exported: there is no collector (collectors)';
			tell(this.#events, 'warning', { code: 'NO_COLLECTOR', message });
		}
		for (const session of this.sessions) session.start();
	}

	/** A last attempt, without waiting for its time, of those that are away; the others leave nothing for later. */
	hurry(): void {
		for (const session of this.sessions) session.hurry();
	}

	async drain(): Promise<void> {
		await Promise.all(this.sessions.map((session) => session.drain()));
	}

	/** What the sessions still hold fails here. */
	close(): void {
		for (const session of this.sessions) session.close();
	}

	/** The core is closed: nothing here may keep it alive. */
	release(): void {
		this.#native = undefined;
		this.#delivery = undefined;
	}

	stats(): SessionStats[] {
		return this.sessions.map((session) => session.stats());
	}

	renewCertificates(): void {
		for (const session of this.sessions) session.renewCertificates();
	}

	ownsEndpoint(address: string, port: number): boolean {
		return [...this.#own.values()].some((own) => own.localPort === port && own.localAddress === address);
	}

	// SessionHost

	format(maxMessageSize: number): number {
		const known = this.#formats.get(maxMessageSize);
		if (known !== undefined) return known;
		const format = this.#core.addFormat(formatOf(this.#settings, maxMessageSize));
		this.#formats.set(maxMessageSize, format);
		return format;
	}

	wire(format: number) {
		return new (native().NativeSession)(this.#core, format);
	}

	losses() {
		const sum = nothing();
		for (const loss of this.#native?.stats().losses ?? []) add(sum, loss);
		return { ...sum, from: this.#startedAt, to: Date.now() };
	}

	addOwn(own: OwnSession): void {
		if (!this.#settings.includeOwn) this.#native?.addOwn(own);
		this.#own.set(ownKey(own), own);
	}

	removeOwn(own: OwnSession): void {
		this.#own.delete(ownKey(own));
		if (!this.#settings.includeOwn) this.#native?.removeOwn(own);
	}

	coreFailed(error: Error): void {
		this.#failed(error);
	}

	get #core(): NativeExporter {
		if (this.#native === undefined) throw new AgentError('ERR_STOPPED', 'the exporter has stopped');
		return this.#native;
	}

	// SessionListener

	opened(session: Session): void {
		this.#delivery?.wake();
		tell(this.#events, 'connect', { collector: session.name });
	}

	broken(session: Session, reason: string, retryInMs: number | null): void {
		this.#delivery?.wake();
		tell(this.#events, 'disconnect', { collector: session.name, reason, retryInMs });
	}

	stalled(session: Session): void {
		this.#delivery?.stalled(session);
	}

	room(): void {
		this.#delivery?.wake();
	}

	settled(session: Session, parcel: Parcel): void {
		this.#delivery?.settled(session, parcel);
	}

	failed(session: Session, parcel: Parcel): void {
		this.#delivery?.failed(session, parcel);
	}

	warned(session: Session, { code, message }: { code: string; message: string }): void {
		tell(this.#events, 'warning', { code, message: `${session.name}: ${message}` });
	}

	reloaded(session: Session, problem: string | null): void {
		if (problem === null) {
			this.#refusing.delete(session);
		} else {
			this.#refusing.add(session);
			const message = `${session.name}: changed certificates are not used, the session keeps those that it has: ${problem}`;
			tell(this.#events, 'warning', { code: 'ERR_TLS', message });
		}
	}
}

/** How records are encoded for collectors that take messages of this size. */
export function formatOf(settings: Settings, maxMessageSize: number) {
	const { profile, fields, observationDomain, nodeName, clusterName } = settings;
	return {
		profile,
		...(fields && { fields }),
		names: haveNames(settings),
		node: nodeName !== undefined,
		cluster: clusterName !== undefined,
		domain: observationDomain,
		maxMessageSize,
	};
}

function ownKey({ protocol, localAddress, localPort, remoteAddress, remotePort }: OwnSession): string {
	return `${protocol} ${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
