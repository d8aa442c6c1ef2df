/** The session for a collector's URL. */
import type { CollectorSettings } from '../options/options.ts';
import { FileSession } from './file.ts';
import type { Session } from './session.ts';
import type { SessionHost, SessionListener } from './session_host.ts';
import { TcpSession } from './tcp.ts';
import { TlsSession } from './tls.ts';
import { UdpSession } from './udp.ts';

export function createSession(
	settings: CollectorSettings,
	host: SessionHost,
	listener: SessionListener,
): Session {
	switch (settings.target.kind) {
		case 'tcp':
			return new TcpSession(settings, host, listener);
		case 'tls':
			return new TlsSession(settings, host, listener);
		case 'udp':
			return new UdpSession(settings, host, listener);
		case 'file':
			return new FileSession(settings, host, listener);
	}
}
