/** Where records go or come from, written as a URL: `tcp://`, `tls://`, `udp://` with host and port, or `file:`. */
import { isIPv6 } from 'node:net';
import { fileURLToPath } from 'node:url';

export type NetworkTarget = {
	readonly kind: 'tcp' | 'tls' | 'udp';
	readonly host: string;
	readonly port: number;
};
export type FileTarget = { readonly kind: 'file'; readonly path: string };
export type Target = NetworkTarget | FileTarget;

export const TARGET_SYNTAX = 'tcp://HOST[:PORT], tls://HOST[:PORT], udp://HOST[:PORT] or file:PATH';

/** RFC 7011 section 10.1: 4739 plain, 4740 secure. */
const DEFAULT_PORT = { tcp: 4739, udp: 4739, tls: 4740 } as const;

/** Port 0 is accepted only where something listens. Undefined: not a target. */
export function parseTarget(text: string, allowPortZero = false): Target | undefined {
	if (text.startsWith('file:')) {
		try {
			const path = text.startsWith('file://') ? fileURLToPath(text) : text.slice('file:'.length);
			return path === '' ? undefined : { kind: 'file', path };
		} catch {
			return undefined;
		}
	}
	if (!URL.canParse(text)) return undefined;
	const url = new URL(text);
	const kind = url.protocol.slice(0, -1);
	if (kind !== 'tcp' && kind !== 'tls' && kind !== 'udp') return undefined;
	if (url.username !== '' || url.search !== '' || url.hash !== '' || !['', '/'].includes(url.pathname)) {
		return undefined;
	}
	const host = decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1');
	const port = url.port === '' ? DEFAULT_PORT[kind] : Number(url.port);
	if (host === '' || (port === 0 && !allowPortZero)) return undefined;
	return { kind, host, port };
}

/** `tcp://[::1]:4739`: the form in which a target is named in logs, metrics and `/status`. */
export function formatTarget(target: Target): string {
	if (target.kind === 'file') return `file:${target.path}`;
	return `${target.kind}://${formatEndpoint(target.host, target.port)}`;
}

export function formatEndpoint(host: string, port: number): string {
	return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The reverse of `formatEndpoint`, for options such as `--metrics HOST:PORT`. */
export function parseEndpoint(text: string): { host: string; port: number } | undefined {
	const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
	const port = Number(match?.[3]);
	if (match === null || port > 65535) return undefined;
	const host = match[1] ?? match[2] ?? '';
	return { host: host === '' ? '127.0.0.1' : host, port };
}
