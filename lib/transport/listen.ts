/** Addresses to listen on: of names, and what is said where one cannot be listened on. */
import { AgentError, codeOf, toError } from '../errors.ts';
import { resolve } from './resolve.ts';

/** How long a name server may take. */
const NAME_MS = 10_000;

const REASONS: Readonly<Record<string, string>> = {
	EADDRINUSE: 'the address is in use',
	EADDRNOTAVAIL: 'this machine has no such address',
	EACCES: 'no permission for this port',
};

/** Where Node would look the name up itself, a name server that does not answer would keep the program alive. */
export async function addressToBind(
	host: string,
	what: string,
	signal: AbortSignal = new AbortController().signal,
): Promise<string> {
	try {
		const [first] = await resolve(host, NAME_MS, signal);
		return first?.address ?? host;
	} catch (cause) {
		throw cannotListen(toError(cause), what);
	}
}

/** `what`: the option and the address, such as `--metrics 127.0.0.1:9`. */
export function cannotListen(cause: Error, what: string): AgentError {
	const code = codeOf(cause) ?? 'ERR_LISTEN';
	return new AgentError(code, `${what}: cannot listen: ${REASONS[code] ?? cause.message}`, { cause });
}
