/**
 * Where the embedded collector's octets come from: listeners and files. Each transport session has a decoder of
 * its own. A malformed message closes a stream's session, because its length field cannot be trusted for finding
 * the next one; a malformed datagram or the rest of a file is skipped.
 */
import { createSocket, type RemoteInfo } from 'node:dgram';
import { createReadStream, readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { type NativeDecoder, native } from '../core/native.ts';
import { messageOf } from '../errors.ts';
import { isPemText } from '../options/secrets.ts';
import { type FileTarget, formatEndpoint, type NetworkTarget } from '../options/target.ts';

export interface DecodedSession {
	readonly transport: 'tcp' | 'tls' | 'udp' | 'file';
	/** `HOST:PORT`, or the file's path. */
	readonly peer: string;
	readonly address: string;
	readonly port: number;
}

/** What sources tell the collector. */
export interface Intake {
	/** False: the session is not wanted. */
	opened(session: DecodedSession): boolean;
	closed(session: DecodedSession, error: string | null): void;
	malformed(session: DecodedSession, error: string): void;
	decoded(json: Buffer, records: number): void;
	isFull(): boolean;
	dropped(): void;
	maxSessions(): number;
}

export interface SourceOptions {
	optionsRecords?: boolean;
	cert?: string;
	key?: string;
	ca?: string;
}

export interface Source {
	/** Null: a file. */
	readonly address: NetworkTarget | null;
	readonly done: Promise<void>;
	pause(): void;
	resume(): void;
	close(): Promise<void>;
}

/** A datagram session without traffic for this long is forgotten with its templates (RFC 7011 section 8.4: three refreshes). */
const QUIET_DATAGRAM_SESSION_MS = 1_800_000;
/** A client that has not finished its TLS handshake by then is dropped. */
const HANDSHAKE_MS = 10_000;

export function openListener(target: NetworkTarget, options: SourceOptions, intake: Intake): Promise<Source> {
	return target.kind === 'udp' ? openUdp(target, options, intake) : openStream(target, options, intake);
}

function decoderFor(transport: 'stream' | 'datagram', options: SourceOptions): NativeDecoder {
	return new (native().NativeDecoder)(transport, { optionsRecords: options.optionsRecords ?? false });
}

async function openStream(target: NetworkTarget, options: SourceOptions, intake: Intake): Promise<Source> {
	const sockets = new Set<Socket>();
	const transport = target.kind === 'tls' ? 'tls' : 'tcp';
	const onSocket = (socket: Socket) => {
		socket.on('error', () => undefined);
		const { remoteAddress: address, remotePort: port } = socket;
		// Gone before it was accepted.
		if (address === undefined || port === undefined) {
			socket.destroy();
			return;
		}
		const session: DecodedSession = { transport, address, port, peer: formatEndpoint(address, port) };
		if (!intake.opened(session)) {
			socket.destroy();
			return;
		}
		sockets.add(socket);
		if (intake.isFull()) socket.pause();
		const decoder = decoderFor('stream', options);
		let error: string | null = null;
		const take = (decoded: ReturnType<NativeDecoder['feed']>) => {
			intake.decoded(decoded.json, decoded.records);
			if (decoded.error == null) return;
			error = decoded.error;
			socket.destroy();
		};
		socket.on('data', (chunk) => {
			if (error === null) take(decoder.feed(chunk));
		});
		socket.on('end', () => {
			if (error === null) take(decoder.end());
		});
		socket.on('close', () => {
			sockets.delete(socket);
			intake.closed(session, error);
		});
	};
	const server: Server =
		transport === 'tls'
			? createTlsServer({ ...credentials(options), handshakeTimeout: HANDSHAKE_MS }, onSocket)
			: createServer(onSocket);
	if (transport === 'tls') server.on('tlsClientError', () => undefined);
	await new Promise<void>((resolve, reject) => {
		server.once('error', (cause) =>
			reject(
				new Error(`cannot listen on ${formatEndpoint(target.host, target.port)}: ${cause.message}`, {
					cause,
				}),
			),
		);
		server.listen({ host: target.host, port: target.port }, resolve);
	});
	const bound = server.address();
	const done = new Promise<void>((resolve) => server.once('close', resolve));
	return {
		address: { ...target, port: typeof bound === 'object' && bound !== null ? bound.port : target.port },
		done,
		pause: () => {
			for (const socket of sockets) socket.pause();
		},
		resume: () => {
			for (const socket of sockets) socket.resume();
		},
		close: async () => {
			server.close();
			for (const socket of sockets) socket.destroy();
			await done;
		},
	};
}

function credentials({ cert, key, ca }: SourceOptions) {
	const pem = (fileOrText: string) => (isPemText(fileOrText) ? fileOrText : readFileSync(fileOrText));
	return {
		...(cert !== undefined && { cert: pem(cert) }),
		...(key !== undefined && { key: pem(key) }),
		...(ca !== undefined && { ca: pem(ca), requestCert: true, rejectUnauthorized: true }),
	};
}

interface DatagramSession extends DecodedSession {
	readonly decoder: NativeDecoder;
	lastSeen: number;
}

async function openUdp(target: NetworkTarget, options: SourceOptions, intake: Intake): Promise<Source> {
	const socket = createSocket({ type: target.host.includes(':') ? 'udp6' : 'udp4' });
	// In the order of their last datagram.
	const sessions = new Map<string, DatagramSession>();
	const forget = (session: DatagramSession) => {
		sessions.delete(session.peer);
		intake.closed(session, null);
	};
	const sessionOf = ({ address, port }: RemoteInfo): DatagramSession | undefined => {
		const peer = formatEndpoint(address, port);
		const known = sessions.get(peer);
		if (known !== undefined) {
			sessions.delete(peer);
			sessions.set(peer, known);
			return known;
		}
		const [quietest] = sessions.values();
		if (quietest !== undefined && sessions.size >= intake.maxSessions()) forget(quietest);
		const session = {
			transport: 'udp',
			peer,
			address,
			port,
			decoder: decoderFor('datagram', options),
			lastSeen: 0,
		} as const;
		if (!intake.opened(session)) return undefined;
		sessions.set(peer, session);
		return session;
	};
	socket.on('message', (datagram, remote) => {
		if (intake.isFull()) {
			intake.dropped();
			return;
		}
		const session = sessionOf(remote);
		if (session === undefined) return;
		session.lastSeen = performance.now();
		const decoded = session.decoder.feed(datagram);
		intake.decoded(decoded.json, decoded.records);
		if (decoded.error != null) intake.malformed(session, decoded.error);
	});
	const sweep = setInterval(() => {
		for (const session of sessions.values()) {
			if (performance.now() - session.lastSeen < QUIET_DATAGRAM_SESSION_MS) break;
			forget(session);
		}
	}, 60_000).unref();
	await new Promise<void>((resolve, reject) => {
		socket.once('error', (cause) => {
			clearInterval(sweep);
			reject(
				new Error(`cannot listen on ${formatEndpoint(target.host, target.port)}: ${cause.message}`, {
					cause,
				}),
			);
		});
		socket.bind({ address: target.host, port: target.port }, resolve);
	});
	socket.removeAllListeners('error').on('error', () => undefined);
	const done = new Promise<void>((resolve) => socket.once('close', resolve));
	return {
		address: { ...target, port: socket.address().port },
		done,
		pause: () => undefined,
		resume: () => undefined,
		close: async () => {
			clearInterval(sweep);
			for (const session of [...sessions.values()]) forget(session);
			socket.close();
			await done;
		},
	};
}

export function openFile({ path }: FileTarget, options: SourceOptions, intake: Intake): Source {
	const session: DecodedSession = { transport: 'file', peer: path, address: path, port: 0 };
	const stream = createReadStream(path);
	const decoder = decoderFor('stream', options);
	let error: string | null = null;
	intake.opened(session);
	const take = (decoded: ReturnType<NativeDecoder['feed']>) => {
		intake.decoded(decoded.json, decoded.records);
		if (decoded.error == null) return;
		error = decoded.error;
		stream.destroy();
	};
	stream.on('data', (chunk) => {
		if (error === null && typeof chunk !== 'string') take(decoder.feed(chunk));
	});
	stream.on('end', () => {
		if (error === null) take(decoder.end());
	});
	stream.on('error', (cause) => {
		error = messageOf(cause);
	});
	const done = new Promise<void>((resolve) => {
		stream.on('close', () => {
			intake.closed(session, error);
			resolve();
		});
	});
	return {
		address: null,
		done,
		pause: () => stream.pause(),
		resume: () => stream.resume(),
		close: async () => {
			stream.destroy();
			await done;
		},
	};
}
