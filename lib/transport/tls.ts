/**
 * IPFIX over TLS (RFC 7011 section 11): the exporter is the client, the collector's certificate and name are
 * always verified.
 *
 * Under TLS 1.3 a client that the collector refuses has finished its handshake before it hears of it. A session is
 * therefore open, and given records, only when a session ticket came or a second passed without an alert.
 */
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { CollectorSettings } from '../options/options.ts';
import type { NetworkTarget } from '../options/target.ts';
import { Credentials } from './credentials.ts';
import { explain } from './reasons.ts';
import { Renewal } from './renewal.ts';
import type { SessionHost, SessionListener } from './session_host.ts';
import { type Link, StreamSession } from './stream.ts';

const QUIET_MS = 1_000;

export class TlsSession extends StreamSession {
	protected readonly ciphered = true;

	readonly #credentials: Credentials;
	readonly #renewal: Renewal;

	constructor(settings: CollectorSettings, host: SessionHost, listener: SessionListener) {
		super(settings, host, listener);
		this.#credentials = new Credentials(settings);
		this.#renewal = new Renewal({
			read: () => this.#credentials.read(),
			// A session that is not open uses what it finds when it connects.
			move: async () => !this.isOpen || (await this.renew()),
			told: (problem) => {
				if (this.state !== 'closed') this.listener.reloaded(this, problem);
			},
			backoff: settings.reconnect,
		});
	}

	override start(): void {
		super.start();
		if (this.#credentials.inFiles) this.#renewal.watch();
	}

	override close(): void {
		this.#renewal.unwatch();
		super.close();
	}

	/** Goes on over a new connection with the certificates as they are now, without losing anything. */
	override renewCertificates(): void {
		this.#renewal.now();
	}

	protected override disconnect(): void {
		this.#renewal.unuse();
		super.disconnect();
	}

	protected async prepare() {
		// Read at every attempt: a renewed certificate is used without a restart.
		const set = await this.#credentials.read();
		const name = this.settings.serverName ?? (this.settings.target as NetworkTarget).host;
		const credentials = {
			secureContext: set.context,
			// RFC 6066: an address is not sent as server name; it is verified all the same.
			...(isIP(name) === 0 ? { servername: name } : { host: name }),
			rejectUnauthorized: true,
		};
		const taken = () => {
			this.certificateExpiry = set.expiry;
			this.#renewal.use(set.fingerprint);
		};
		return async (raw: Socket, signal: AbortSignal): Promise<Link> => ({
			stream: await this.#handshake(raw, credentials, signal),
			raw,
			taken,
		});
	}

	#handshake(raw: Socket, credentials: ConnectionOptions, signal: AbortSignal): Promise<TLSSocket> {
		return new Promise((resolve, reject) => {
			const stream = connect({ ...credentials, socket: raw });
			let timer = setTimeout(
				() => stream.destroy(new Error(`no TLS handshake within ${this.settings.connectTimeout} ms`)),
				this.settings.connectTimeout,
			);
			const abort = () => stream.destroy(new Error('given up'));
			const fail = (error: Error) => {
				clearTimeout(timer);
				signal.removeEventListener('abort', abort);
				raw.destroy();
				reject(error);
			};
			const onError = (error: Error) => {
				const reason = this.#credentials.explainUntrusted(error) ?? explain(error);
				fail(new Error(`TLS: ${reason}`, { cause: error }));
			};
			let shaken = false;
			const onClose = () =>
				fail(
					new Error(
						shaken
							? 'closed by the collector right after the TLS handshake: it seems to refuse our certificate'
							: 'closed by the collector during the TLS handshake',
					),
				);
			// The ticket's event comes from within OpenSSL's read: writing there and then would break the cipher's state.
			const accepted = () => setImmediate(open);
			const open = () => {
				if (stream.destroyed) return;
				clearTimeout(timer);
				signal.removeEventListener('abort', abort);
				stream.off('error', onError).off('close', onClose).off('end', onClose).off('session', accepted);
				resolve(stream);
			};
			stream.on('error', onError).on('close', onClose).on('end', onClose);
			signal.addEventListener('abort', abort);
			if (signal.aborted) abort();
			// Alerts arrive only while the stream is read.
			stream.resume();
			stream.once('secureConnect', () => {
				clearTimeout(timer);
				shaken = true;
				if (stream.getProtocol() !== 'TLSv1.3') {
					accepted();
					return;
				}
				stream.once('session', accepted);
				timer = setTimeout(accepted, QUIET_MS);
			});
		});
	}
}
