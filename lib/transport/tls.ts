/**
 * IPFIX over TLS (RFC 7011 section 11): the exporter is the client, the collector's certificate and name are
 * always verified.
 *
 * Under TLS 1.3 a client that the collector refuses has finished its handshake before it hears of it. A session is
 * therefore open, and given records, only when a session ticket came or a second passed without an alert.
 */
import { readFile } from 'node:fs/promises';
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { NetworkTarget } from '../target.ts';
import type { Address } from './resolve.ts';
import { explain, type Link, StreamSession } from './stream.ts';
import { dialTcp } from './tcp.ts';

const QUIET_MS = 1_000;

export class TlsSession extends StreamSession {
	protected readonly ciphered = true;

	protected async dial(address: Address, port: number, signal: AbortSignal): Promise<Link> {
		// Read at every attempt: a renewed certificate is used without a restart.
		const credentials = await this.#credentials();
		const raw = await dialTcp(address, port, this.settings.connectTimeout, signal, this.host);
		return { stream: await this.#handshake(raw, credentials, signal), raw };
	}

	/** Moves to a new connection with the certificates as they are now, without losing anything. */
	renew(): Promise<void> {
		return this.reopen();
	}

	async #credentials(): Promise<ConnectionOptions> {
		const { ca, cert, key, crl, minVersion, serverName } = this.settings;
		const name = serverName ?? (this.settings.target as NetworkTarget).host;
		return {
			...(ca !== undefined && { ca: await pem(ca) }),
			...(cert !== undefined && { cert: await pem(cert) }),
			...(key !== undefined && { key: await pem(key) }),
			...(crl !== undefined && { crl: await pem(crl) }),
			// RFC 6066: an address is not sent as server name; it is verified all the same.
			...(isIP(name) === 0 ? { servername: name } : { host: name }),
			minVersion,
			rejectUnauthorized: true,
		};
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
			const onError = (error: Error) => fail(new Error(`TLS: ${explain(error)}`, { cause: error }));
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
			signal.addEventListener('abort', abort);
			stream.on('error', onError).on('close', onClose).on('end', onClose);
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

async function pem(fileOrText: string): Promise<string | Buffer> {
	return fileOrText.includes('-----BEGIN') ? fileOrText : await readFile(fileOrText);
}
