/**
 * Where all octets go: sessions are admitted, decoded and ended here, whatever they come over. Listeners call `admit`, `open`,
 * `take` and one of the endings; decoded text leaves through the queue, and what went wrong through the ledger.
 */
import type { EventEmitter } from 'node:events';
import { codeOf } from '../errors.ts';
import { tell } from '../exporter/events.ts';
import type { Ledger } from './ledger.ts';
import type { Queue } from './queue.ts';
import type { Ending, Session } from './session.ts';
import { Places, TemplateMemory } from './sessions.ts';
import type { ReceivingSettings } from './settings.ts';
import { type Held, Turns } from './turns.ts';
import type { CollectorEvents } from './types.ts';

/** A connection that delivered a message within this time does not give way to a new one. */
const SPARED_MS = 1_000;
const SWEEP_MS = 10_000;

const GAVE_WAY = { code: 'ERR_NO_ROOM', error: 'gave way to a newer session' };
const NO_MEMORY = {
	code: 'ERR_TEMPLATE_MEMORY',
	error: 'its templates had to go for lack of memory: it sends them again when it connects again',
};

export class Intake {
	readonly settings: ReceivingSettings;
	readonly #queue: Queue;
	readonly #ledger: Ledger;
	readonly #events: EventEmitter<CollectorEvents>;
	readonly #connections: Places<Session>;
	readonly #senders: Places<Session>;
	readonly #memory: TemplateMemory<Session>;
	readonly #turns = new Turns<Session>((session, chunk) => this.take(session, chunk));
	readonly #sweep: NodeJS.Timeout;
	#open = 0;
	#handshakes = 0;

	constructor(
		settings: ReceivingSettings,
		queue: Queue,
		ledger: Ledger,
		events: EventEmitter<CollectorEvents>,
	) {
		this.settings = settings;
		this.#queue = queue;
		this.#ledger = ledger;
		this.#events = events;
		this.#connections = new Places(settings.maxSessions, SPARED_MS);
		this.#senders = new Places(settings.maxSessions, 0);
		this.#memory = new TemplateMemory(settings.maxTemplateBytes);
		this.#sweep = setInterval(() => this.#closeIdle(), Math.min(SWEEP_MS, settings.idleTimeout)).unref();
	}

	get gauges() {
		return { sessions: this.#open, handshakes: this.#handshakes, templateBytes: this.#memory.total };
	}

	get full(): boolean {
		return this.#queue.full;
	}

	/** False: the session is not wanted, or there is no room for it. */
	admit(session: Session, address: string, port: number): boolean {
		if (!this.#isWanted(session, address, port)) return false;
		const places = this.#placesOf(session);
		const inTheWay = places.inTheWay(performance.now());
		if (inTheWay === undefined) {
			this.#refuse(session, `all of ${this.settings.maxSessions} sessions are busy`);
			return false;
		}
		if (inTheWay !== null) {
			this.#ledger.counters.displacedSessions += 1;
			this.#ledger.note('ERR_NO_ROOM', 1, `${inTheWay.peer} gave way to ${session.peer}`);
			this.#end(inTheWay, GAVE_WAY);
		}
		places.add(session);
		this.#handshakes += 1;
		return true;
	}

	/** The session can deliver: over TLS its handshake is done. */
	open(session: Session): void {
		if (session.state !== 'admitted') return;
		session.state = 'open';
		if (session.transport !== 'file') this.#handshakes -= 1;
		this.#open += 1;
		this.#ledger.counters.acceptedSessions += 1;
		tell(this.#events, 'connect', { peer: session.peer, transport: session.transport });
	}

	/** A part of what a connection brings: `take`, in its turn. */
	takeInTurn(session: Session, chunk: Buffer, stream: Held): void {
		this.#turns.take(session, chunk, stream);
	}

	/** Whether nothing more is to be read of the session: nobody reads records, or what it brought waits for its turn. */
	isHeld(session: Session): boolean {
		return this.full || this.#turns.waits(session);
	}

	/** Any part of a stream, or one datagram of a session that is open. */
	take(session: Session, chunk: Buffer): void {
		if (session.state !== 'open' || session.ending !== null) return;
		const { messages, templateBytes } = this.#decode(session, chunk);
		if (session.transport === 'file') return;
		if (messages > 0) this.#placesOf(session).heard(session, performance.now());
		this.#remember(session, templateBytes);
	}

	/** A sender's first datagram: it has a session, true, only if it is a message. Strangers could fill all places otherwise. */
	takeFirst(session: Session, datagram: Buffer, address: string, port: number): boolean {
		if (!this.#isWanted(session, address, port)) return false;
		const { messages, templateBytes } = this.#decode(session, datagram);
		if (messages === 0 || !this.admit(session, address, port)) {
			session.state = 'ended';
			return false;
		}
		this.open(session);
		this.#senders.heard(session, performance.now());
		this.#remember(session, templateBytes);
		return true;
	}

	/** The other end has closed, or the file is read. */
	finished(session: Session): void {
		this.#turns.flush(session);
		const cut = session.state === 'open' ? session.cut() : null;
		if (cut === null || session.ending !== null) return;
		this.#ledger.counters.malformed += 1;
		this.#ledger.note('ERR_MALFORMED', 1, `${session.transport} session of ${session.peer}: ${cut}`);
		session.ending = { code: 'ERR_MALFORMED', error: cut };
	}

	/** The connection broke. */
	broken(session: Session, cause: Error): void {
		this.#turns.flush(session);
		if (session.state !== 'open' || session.ending !== null) return;
		const cut = session.cut();
		const error = `${reasonOf(cause)}${cut === null ? '' : `: ${cut}`}`;
		this.#ledger.counters.brokenSessions += 1;
		if (cut !== null) this.#ledger.counters.malformed += 1;
		this.#ledger.note('ERR_CONNECTION', 1, `${session.transport} session of ${session.peer}: ${error}`);
		session.ending = { code: codeOf(cause) ?? 'ERR_CONNECTION', error };
	}

	/** The TLS handshake came to nothing. */
	handshakeFailed(session: Session, reason: string): void {
		if (session.state !== 'admitted' || session.ending !== null) return;
		this.#ledger.counters.failedHandshakes += 1;
		this.#ledger.note('ERR_HANDSHAKE', 1, `${session.peer}: ${reason}`);
		session.ending = { code: 'ERR_HANDSHAKE', error: reason };
	}

	/** What the session came over is closed. */
	closed(session: Session): void {
		this.#turns.flush(session);
		const { state } = session;
		if (state === 'ended') return;
		session.state = 'ended';
		this.#placesOf(session).delete(session);
		this.#memory.forget(session);
		session.release();
		if (state === 'admitted') {
			if (session.transport !== 'file') this.#handshakes -= 1;
			return;
		}
		this.#open -= 1;
		const { peer, transport, ending } = session;
		tell(this.#events, 'disconnect', {
			...{ peer, transport },
			...{ error: ending?.error ?? null, code: ending?.code ?? null },
		});
	}

	/** The queue has become full, or no longer is. */
	hold(full: boolean): void {
		this.#turns.hold(full);
		if (full) return;
		// Nobody could deliver meanwhile.
		for (const places of [this.#connections, this.#senders]) places.excuse(performance.now());
	}

	/** An error of a listener that goes on. */
	listenerFailed(where: string, cause: Error): void {
		this.#ledger.note('ERR_LISTEN', 1, `${where}: ${cause.message}`);
	}

	dropped(peer: string): void {
		this.#ledger.counters.droppedDatagrams += 1;
		this.#ledger.note('ERR_QUEUE_FULL', 1, peer);
	}

	/** Nothing more is taken. */
	dispose(): void {
		this.#turns.dispose();
		clearInterval(this.#sweep);
	}

	#placesOf(session: Session): Places<Session> {
		return session.transport === 'udp' ? this.#senders : this.#connections;
	}

	/** From our side. */
	#end(session: Session, ending: Ending): void {
		session.ending ??= ending;
		this.closed(session);
		session.close();
	}

	#refuse(session: Session, reason: string): void {
		session.state = 'ended';
		this.#ledger.counters.refusedSessions += 1;
		this.#ledger.note('ERR_NO_ROOM', 1, `${session.peer} was refused: ${reason}`);
	}

	#isWanted(session: Session, address: string, port: number): boolean {
		let wanted = false;
		try {
			wanted = this.settings.accept?.({ address, port }) ?? true;
		} catch (error) {
			// Not ours to handle, and no reason to let anybody in.
			process.nextTick(() => {
				throw error;
			});
		}
		if (!wanted) this.#refuse(session, 'not accepted');
		return wanted;
	}

	#decode(session: Session, chunk: Buffer) {
		const decoded = session.decode(chunk);
		const { json, records, error, counted } = decoded;
		if (records > 0) {
			this.#ledger.counters.records += records;
			this.#queue.put({ json, records });
		}
		if (counted) this.#count(session);
		if (error != null) this.#unreadable(session, error);
		return decoded;
	}

	/** Also after a fault: what was defined before it stays. */
	#remember(session: Session, templateBytes: number): void {
		for (const loser of this.#memory.use(session, templateBytes)) {
			this.#ledger.counters.forgottenTemplates += 1;
			this.#ledger.note('ERR_TEMPLATE_MEMORY', 1, loser.peer);
			if (loser.transport === 'udp') loser.forgetTemplates();
			else this.#end(loser, NO_MEMORY);
		}
	}

	#unreadable(session: Session, error: string): void {
		const { peer, transport } = session;
		if (transport === 'udp') {
			this.#ledger.note('ERR_MALFORMED', 1, `datagram of ${peer}: ${error}`);
			tell(this.#events, 'malformed', { peer, error });
			return;
		}
		this.#ledger.note('ERR_MALFORMED', 1, `${transport} session of ${peer}: ${error}`);
		session.ending ??= { code: 'ERR_MALFORMED', error };
		session.close();
	}

	#count(session: Session): void {
		const { counters } = this.#ledger;
		const { badMessages, unknownTemplateSets, sequenceGaps, missingRecords } = session.news();
		counters.malformed += badMessages;
		counters.unknownTemplateSets += unknownTemplateSets;
		counters.sequenceGaps += sequenceGaps;
		counters.missingRecords += missingRecords;
		if (unknownTemplateSets > 0) this.#ledger.note('ERR_UNKNOWN_TEMPLATE', unknownTemplateSets, session.peer);
		if (missingRecords > 0) this.#ledger.note('ERR_SEQUENCE_GAP', missingRecords, session.peer);
	}

	#closeIdle(): void {
		if (this.full) return;
		const { idleTimeout } = this.settings;
		const seconds = Math.round(idleTimeout / 1_000);
		for (const places of [this.#connections, this.#senders]) {
			for (const session of places.quietFor(idleTimeout, performance.now())) {
				this.#ledger.counters.idleSessions += 1;
				this.#ledger.note('ERR_IDLE', 1, session.peer);
				this.#end(session, { code: 'ERR_IDLE', error: `no message for ${seconds} s` });
			}
		}
	}
}

function reasonOf(cause: Error): string {
	const code = codeOf(cause);
	if (code === 'ECONNRESET' || code === 'EPIPE') return 'reset by the exporter';
	if (code === 'ETIMEDOUT' || code === 'EHOSTUNREACH') return 'the exporter is gone: it answers no more';
	return cause.message;
}
