/** /etc/hosts of this mount namespace alone, as a scenario wants it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';
import { run } from './kernel.ts';

let file: string | undefined;

export function setHosts(...lines: string[]): void {
	const first = file === undefined;
	file ??= join(temporaryFolder('hosts'), 'hosts');
	writeFileSync(file, `127.0.0.1 localhost\n${lines.join('\n')}\n`);
	if (first) run('mount', '--bind', file, '/etc/hosts');
}
