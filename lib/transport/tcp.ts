/** IPFIX over TCP (RFC 7011 section 10.4). */
import type { Socket } from 'node:net';
import { type Link, StreamSession } from './stream.ts';

export class TcpSession extends StreamSession {
	protected readonly ciphered = false;

	protected async prepare() {
		return async (raw: Socket): Promise<Link> => ({ stream: raw, raw });
	}
}
