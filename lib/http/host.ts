/**
 * Which `Host` a request may name. A page of somewhere else can make its reader's browser ask this server when the page's own
 * name begins to resolve to our address (DNS rebinding); the browser then sends that name. An address is never such a name:
 * the one bound, the one connected to, or one in front of it that is forwarded here.
 */
import { isIP } from 'node:net';

/** `names`: those that were given, the bound host among them. */
export function isAllowedHost(host: string | undefined, names: readonly string[]): boolean {
	// HTTP/1.0 has none; a browser always sends one.
	if (host === undefined) return true;
	const name = /^(?:\[([^\]]+)\]|([^:]+))(?::\d+)?$/.exec(host);
	const plain = withoutDot(name?.[1] ?? name?.[2] ?? '');
	return isIP(plain) !== 0 || plain === 'localhost' || names.some((allowed) => withoutDot(allowed) === plain);
}

function withoutDot(name: string): string {
	return name.toLowerCase().replace(/\.$/, '');
}
