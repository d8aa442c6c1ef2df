/**
 * A collector that has a bad day, in the way that it is told for each connection. Before it cuts a connection it keeps
 * that connection's packets out and reads what its kernel has acknowledged: so it has exactly what an exporter may take
 * as settled. For use inside a namespace of the scenario's own; `nft` does the dropping.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { parseLines } from '../../lib/collector/collector.ts';
import { native } from '../../lib/core/native.ts';
import type { FlowRecord } from '../../lib/index.ts';
import { COLLECTOR_PORT, run, sleep } from './kernel.ts';

export interface Fault {
	/**
	 * reset: an RST; half-close: a FIN, and reads on; stall: reads nothing more; slow: one octet a second; blackhole: no
	 * packet comes in any more; mute: no acknowledgement goes out; garbage: sends nonsense all the time.
	 */
	kind: 'none' | 'reset' | 'half-close' | 'stall' | 'slow' | 'blackhole' | 'mute' | 'garbage';
	/** Octets read before it happens. Default: at once. */
	after?: number;
	/** Milliseconds before the first octet is read. */
	delay?: number;
	/** How long stall, slow, blackhole and mute last, in milliseconds; then all is read. Default: 2,000. */
	lasts?: number;
}

export interface FaultySession {
	readonly records: FlowRecord[];
	octets: number;
	/** What the decoder had to complain about. */
	error: string | null;
	/** The exporter's certificate, where it showed one. */
	subject: string;
	open: boolean;
}

const TABLE = ['inet', 'faulty'];

let nextPort = COLLECTOR_PORT;

export class FaultyCollector {
	readonly sessions: FaultySession[] = [];
	/** Handshakes that failed. */
	refusals = 0;
	readonly port = nextPort++;
	readonly #faults: readonly Fault[];
	readonly #tls: TlsOptions | undefined;
	readonly #sockets = new Set<Socket>();
	#server: Server | undefined;

	/** The nth connection has the nth fault; those after the last have none. */
	constructor(faults: readonly Fault[], tls?: TlsOptions) {
		this.#faults = faults;
		this.#tls = tls;
	}

	get url(): string {
		return `${this.#tls === undefined ? 'tcp' : 'tls'}://127.0.0.1:${this.port}`;
	}

	get records(): FlowRecord[] {
		return this.sessions.flatMap(({ records }) => records);
	}

	/** Listens, the second time on the same port. */
	async listen(): Promise<this> {
		run('nft', 'add', 'table', ...TABLE);
		for (const hook of ['input', 'output'])
			run('nft', 'add', 'chain', ...TABLE, hook, `{ type filter hook ${hook} priority 0; }`);
		const server =
			this.#tls === undefined
				? createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket))
				: createTlsServer({ ...this.#tls, allowHalfOpen: true }, (socket) => {
						this.#accept(socket, String(socket.getPeerCertificate()?.subject?.CN ?? ''));
					});
		server.on('tlsClientError', () => {
			this.refusals += 1;
		});
		this.#server = server.listen(this.port, '127.0.0.1');
		await once(server, 'listening');
		return this;
	}

	/** No new connection is accepted; those that stand go on. */
	refuse(): void {
		this.#server?.close();
		this.#server = undefined;
	}

	/** Waits until the exporter has closed everything and all of it is read. */
	async ended(): Promise<void> {
		for (let waited = 0; this.sessions.some(({ open }) => open); waited += 20) {
			if (waited > 20_000) throw new Error('a session was left open');
			await sleep(20);
		}
		this.refuse();
		run('nft', 'flush', 'table', ...TABLE);
	}

	#accept(socket: Socket, subject = ''): void {
		const session: FaultySession = { records: [], octets: 0, error: null, subject, open: true };
		const {
			kind,
			after = 0,
			delay = 0,
			lasts = 2_000,
		} = this.#faults[this.sessions.length] ?? {
			kind: 'none',
		};
		this.sessions.push(session);
		this.#sockets.add(socket);
		const decoder = new (native().NativeDecoder)('stream');
		let happened = kind === 'none';
		const happen = () => {
			if (happened) return;
			happened = true;
			this.#fail(socket, session, kind, lasts).catch((error: unknown) => {
				session.error ??= String(error);
			});
		};
		socket.on('error', () => undefined);
		socket.on('end', () => socket.end());
		socket.once('close', () => {
			session.open = false;
			this.#sockets.delete(socket);
		});
		socket.on('data', (chunk) => {
			session.octets += chunk.length;
			const { json, error } = decoder.feed(chunk);
			session.error ??= error ?? null;
			session.records.push(...parseLines(json));
			if (session.octets >= after) happen();
		});
		if (delay > 0) {
			socket.pause();
			setTimeout(() => socket.resume(), delay);
		}
		if (after === 0) happen();
	}

	async #fail(socket: Socket, session: FaultySession, kind: Fault['kind'], lasts: number): Promise<void> {
		const { remotePort } = socket;
		const incoming = `tcp sport ${remotePort} tcp dport ${this.port} drop`;
		if (kind === 'reset') {
			run('nft', 'add', 'rule', ...TABLE, 'input', incoming);
			await readOut(socket, session);
			if (this.#tls === undefined) socket.resetAndDestroy();
			else socket.destroy();
		} else if (kind === 'half-close') {
			socket.end();
		} else if (kind === 'garbage') {
			const timer = setInterval(() => socket.write(Buffer.alloc(1_000, 0xa5)), 10);
			socket.once('close', () => clearInterval(timer));
		} else if (kind === 'stall' || kind === 'slow') {
			socket.pause();
			const timer = kind === 'slow' ? setInterval(() => socket.read(1), 1_000) : undefined;
			await sleep(lasts);
			clearInterval(timer);
			socket.resume();
		} else {
			const [chain, rule] =
				kind === 'blackhole'
					? ['input', `tcp dport ${this.port} drop`]
					: ['output', `tcp sport ${this.port} tcp dport ${remotePort} tcp flags ack drop`];
			run('nft', 'add', 'rule', ...TABLE, chain, rule);
			await sleep(lasts);
			run('nft', 'flush', 'chain', ...TABLE, chain);
			await readOut(socket, session);
			// The exporter gave this connection up while no packet came through: nobody else will end it.
			socket.destroy();
		}
	}
}

/** Reads until the kernel has nothing left: several turns of the event loop in which no octet came. */
async function readOut(socket: Socket, session: FaultySession): Promise<void> {
	socket.resume();
	for (let quiet = 0; quiet < 5; quiet += 1) {
		const before = session.octets;
		await sleep(10);
		if (session.octets !== before) quiet = -1;
	}
}
