/** Where records go or come from, written as a URL: `tcp://`, `tls://`, `udp://` with host and port, or `file:`. */
import { isIPv6 } from 'node:net';
import { fileURLToPath } from 'node:url';
import { holdsPrivateKey } from './secrets.ts';

export type NetworkTarget = {
	readonly kind: 'tcp' | 'tls' | 'udp';
	/** A name or an address; IPv6 without brackets, with its scope where it has one: `fe80::1%eth0`. */
	readonly host: string;
	readonly port: number;
};
export type FileTarget = { readonly kind: 'file'; readonly path: string };
export type Target = NetworkTarget | FileTarget;

export const TARGET_SYNTAX = 'tcp://HOST[:PORT], tls://HOST[:PORT], udp://HOST[:PORT] or file:PATH';

/** RFC 7011 section 10.1: 4739 plain, 4740 secure. */
const DEFAULT_PORT = { tcp: 4739, udp: 4739, tls: 4740 } as const;

const NETWORK = /^(tcp|tls|udp):\/\/(\[[^\]]*\]|[^[\]:]*)(?::(\d{1,5}))?\/?$/i;
/** Letters, digits, hyphens, underscores and dots, and whatever an international name has beyond ASCII. */
const NAME = /^[\p{L}\p{N}._-]+$/u;
/** RFC 4007 section 11; RFC 6874 writes the `%` as `%25`. An interface's name has at most 15 octets, none of them `/` or a space. */
const SCOPED = /^([\da-f:.]+)%(?:25)?([^\s/%]{1,15})$/i;

/** Port 0 is accepted only where something listens. Undefined: not a target. */
export function parseTarget(text: string, allowPortZero = false): Target | undefined {
	if (text.startsWith('file:')) {
		try {
			const given = text.startsWith('file://') ? fileURLToPath(text) : text.slice('file:'.length);
			// Two slashes after `file:` would be read as the begin of a host.
			const path = given.replace(/^\/+/, '/');
			return path === '' || holdsPrivateKey(path) ? undefined : { kind: 'file', path };
		} catch {
			return undefined;
		}
	}
	const [, scheme = '', written = '', digits] = NETWORK.exec(text) ?? [];
	const kind = scheme.toLowerCase() as NetworkTarget['kind'] | '';
	const host = parseHost(written);
	if (kind === '' || host === undefined) return undefined;
	const port = digits === undefined ? DEFAULT_PORT[kind] : Number(digits);
	if (port > 65535 || (port === 0 && !allowPortZero)) return undefined;
	return { kind, host, port };
}

/** Brackets mean IPv6, as in every URL. */
function parseHost(written: string): string | undefined {
	if (!written.startsWith('[')) return NAME.test(written) ? written : undefined;
	const inside = written.slice(1, -1);
	const [, address, scope] = SCOPED.exec(inside) ?? [];
	if (address !== undefined) return isIPv6(address) ? `${plain(address)}%${scope}` : undefined;
	return isIPv6(inside) && !inside.includes('%') ? plain(inside) : undefined;
}

/** RFC 5952's text, which is the kernel's: a URL's host is the quickest way to it. */
function plain(address: string): string {
	return new URL(`http://[${address}]`).hostname.slice(1, -1);
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
	const match = /^(\[[^\]]+\]|[^[\]:]*):(\d{1,5})$/.exec(text);
	const port = Number(match?.[2]);
	if (match === null || port > 65535) return undefined;
	const host = match[1] === '' ? '127.0.0.1' : parseHost(match[1] ?? '');
	return host === undefined ? undefined : { host, port };
}
