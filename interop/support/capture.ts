/** A capture of one port on loopback, by dumpcap. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Program } from './program.ts';
import { temporaryFolder } from './report.ts';

/** Nothing listens there. */
const MARKER_PORT = 4_738;
const MARKER = 'the capture ends here';

export class Capture {
	readonly file = join(temporaryFolder(), 'capture.pcapng');
	readonly #dumpcap: Program;

	private constructor(filter: string) {
		const both = `(${filter}) or udp dst port ${MARKER_PORT}`;
		this.#dumpcap = new Program('dumpcap', ['-q', '-i', 'lo', '-f', both, '-w', this.file]);
	}

	/** Resolves when it captures. */
	static async start(filter: string): Promise<Capture> {
		const capture = new Capture(filter);
		await capture.#dumpcap.printed(/File: /);
		return capture;
	}

	/** What was sent before this is in the file after it: dumpcap would drop what it has not read when it is told to end. */
	async end(): Promise<void> {
		const socket = createSocket('udp4');
		socket.send(MARKER, MARKER_PORT, '127.0.0.1');
		await this.#dumpcap.until('wrote the last packet', () => readFileSync(this.file).includes(MARKER));
		socket.close();
		await once(socket, 'close');
		await this.#dumpcap.succeeded('SIGINT');
	}
}
