/** Errors of addresses that cannot be listened on: with the system's code, and in words. */
import { AgentError, codeOf } from '../errors.ts';

const REASONS: Readonly<Record<string, string>> = {
	EADDRINUSE: 'the address is in use',
	EADDRNOTAVAIL: 'this machine has no such address',
	EACCES: 'no permission for this port',
	ENOTFOUND: 'the name is not known',
	EAI_AGAIN: 'no name server answered',
};

/** `what`: the option and the address, such as `--metrics 127.0.0.1:9`. */
export function cannotListen(cause: Error, what: string): AgentError {
	const code = codeOf(cause) ?? 'ERR_LISTEN';
	return new AgentError(code, `${what}: cannot listen: ${REASONS[code] ?? cause.message}`, { cause });
}
