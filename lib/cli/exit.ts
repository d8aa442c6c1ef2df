/**
 * The end of the process. `process.exit` waits for what Node's pool is doing, and a disk that does not answer keeps it
 * for ever: then the process ends without it.
 */
import { native } from '../core/native.ts';

export function exitAtOnce(code: number): void {
	// Requests to file systems that nobody has answered yet.
	if (process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))) native().endProcess(code);
	process.exit(code);
}
