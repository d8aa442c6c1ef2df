/** Loaded into a program (`--import`): one thread of Node's pool waits for ever, as for a disk that does not answer. */
import { execFileSync } from 'node:child_process';
import { open } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';

const fifo = join(temporaryFolder('hung'), 'fifo');
execFileSync('mkfifo', [fifo]);
// Nobody ever writes to it.
open(fifo, 'r', () => undefined);
