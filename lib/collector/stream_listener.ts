/**
 * IPFIX over TCP and TLS. A connection has a place before anything is read from it, so that unfinished handshakes are bounded
 * like sessions; it is closed by closing its socket, over TLS the one below, whatever state the handshake is in.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions, type Server as TlsServer } from 'node:tls';
import { formatEndpoint, formatTarget, type NetworkTarget } from '../options/target.ts';
import { addressToBind, cannotListen } from '../transport/listen.ts';
import { explain } from '../transport/reasons.ts';
import type { Intake } from './intake.ts';
import { Session } from './session.ts';
import type { Source } from './source.ts';

/** After so much silence the exporter's kernel is asked whether it is still there; it has ten seconds to answer. */
const KEEP_ALIVE_MS = 60_000;

export interface StreamListener extends Source {
	readonly address: NetworkTarget;
	/** New connections are made with these from now on. */
	renew(credentials: TlsOptions): void;
}

/** `where`: the option that asks for it. Rejects with the system's code. */
export async function listenOnStream(
	target: NetworkTarget,
	where: string,
	credentials: TlsOptions,
	intake: Intake,
	signal: AbortSignal,
): Promise<StreamListener> {
	const host = await addressToBind(target.host, where, signal);
	const streams = new Map<Socket, Session>();
	const raws = new Map<Socket, Session>();
	const handshakes = target.kind === 'tls' ? new Handshakes(credentials, intake, read) : undefined;

	function read(stream: Socket, session: Session): void {
		streams.set(stream, session);
		intake.open(session);
		if (intake.full) stream.pause();
		stream.on('data', (chunk: Buffer) => intake.takeInTurn(session, chunk, stream));
		stream.on('end', () => intake.finished(session));
		stream.on('error', (error) => intake.broken(session, error));
		stream.on('close', () => streams.delete(stream));
	}

	const server = createServer((raw) => {
		raw.on('error', () => undefined);
		const { remoteAddress, remotePort } = raw;
		// Gone before it was accepted.
		if (remoteAddress === undefined || remotePort === undefined) {
			raw.destroy();
			return;
		}
		const peer = formatEndpoint(remoteAddress, remotePort);
		const session = new Session(target.kind, peer, intake.settings, () => raw.destroy());
		if (!intake.admit(session, remoteAddress, remotePort)) {
			raw.destroy();
			return;
		}
		raws.set(raw, session);
		raw.setKeepAlive(true, KEEP_ALIVE_MS);
		raw.on('close', () => {
			raws.delete(raw);
			handshakes?.gone(raw);
			intake.closed(session);
		});
		if (handshakes === undefined) read(raw, session);
		else handshakes.begin(raw, session);
	});
	await bind(server, host, target.port, where);
	server.on('error', (error) => intake.listenerFailed(formatTarget(target), error));
	const bound = server.address();
	return {
		address: { ...target, port: typeof bound === 'object' && bound !== null ? bound.port : target.port },
		renew: (renewed) => handshakes?.renew(renewed),
		pause: () => {
			for (const stream of streams.keys()) stream.pause();
		},
		resume: () => {
			for (const [stream, session] of streams) if (!intake.isHeld(session)) stream.resume();
		},
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				for (const [raw, session] of raws) {
					intake.closed(session);
					raw.destroy();
				}
			}),
	};
}

async function bind(server: Server, host: string, port: number, where: string): Promise<void> {
	await new Promise<void>((resolve, reject) => {
		const fail = (cause: Error) => reject(cannotListen(cause, where));
		server.once('error', fail);
		server.listen({ host, port }, () => {
			server.off('error', fail);
			resolve();
		});
	});
}

interface Handshake {
	readonly raw: Socket;
	readonly session: Session;
	readonly limit: NodeJS.Timeout;
}

/** Connections whose handshake is under way. */
class Handshakes {
	readonly #intake: Intake;
	readonly #done: (stream: Socket, session: Session) => void;
	/** By their ends: Node tells of a handshake with a socket of its own making. */
	readonly #pending = new Map<string, Handshake>();
	readonly #ends = new WeakMap<Socket, string>();
	#server: TlsServer;

	constructor(credentials: TlsOptions, intake: Intake, done: (stream: Socket, session: Session) => void) {
		this.#intake = intake;
		this.#done = done;
		this.#server = this.#serverWith(credentials);
	}

	/** A handshake that has begun goes on with the former ones. */
	renew(credentials: TlsOptions): void {
		this.#server = this.#serverWith(credentials);
	}

	begin(raw: Socket, session: Session): void {
		const { handshakeTimeout } = this.#intake.settings;
		const limit = setTimeout(() => {
			this.#intake.handshakeFailed(session, `not done within ${handshakeTimeout / 1_000} s`);
			raw.destroy();
		}, handshakeTimeout).unref();
		const ends = endsOf(raw);
		this.#ends.set(raw, ends);
		this.#pending.set(ends, { raw, session, limit });
		raw.setNoDelay();
		this.#server.emit('connection', raw);
	}

	gone(raw: Socket): void {
		const ends = this.#ends.get(raw) ?? '';
		const handshake = this.#pending.get(ends);
		if (handshake?.raw !== raw) return;
		this.#pending.delete(ends);
		clearTimeout(handshake.limit);
		this.#intake.handshakeFailed(handshake.session, 'ended by the other side');
	}

	#serverWith(credentials: TlsOptions): TlsServer {
		// It never listens: it is given connections that have a place.
		const server = createTlsServer(credentials);
		server.on('secureConnection', (stream) => {
			const ends = endsOf(stream);
			const handshake = this.#pending.get(ends);
			if (handshake === undefined) {
				stream.destroy();
				return;
			}
			this.#pending.delete(ends);
			clearTimeout(handshake.limit);
			this.#done(stream, handshake.session);
		});
		server.on('tlsClientError', (error, stream) => {
			const handshake = this.#pending.get(endsOf(stream));
			if (handshake === undefined) return;
			this.#intake.handshakeFailed(handshake.session, explain(error).split('\n', 1)[0] ?? '');
			handshake.raw.destroy();
		});
		return server;
	}
}

function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string {
	return `${remoteAddress} ${remotePort} ${localAddress}`;
}
