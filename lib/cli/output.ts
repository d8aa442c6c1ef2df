/** Lines on stdout, no faster than they are read. When the reader goes away, the work is done: `gone` resolves. */
import { codeOf, toError } from '../errors.ts';
import { exitAtOnce } from './exit.ts';

/** What was written to stdout and not read yet is not waited for. */
let abandoned = false;

/** Ends the process when all of stdout is read, or nobody waits for that any more. */
export function exitWhenRead(code: number): void {
	if (abandoned) exitAtOnce(code);
	process.stdout.write('', () => exitAtOnce(code));
}

export class Output {
	/** Resolves when nobody reads stdout any more; rejects when it cannot be written for another reason. */
	readonly gone: Promise<void>;
	readonly #limit: number;
	#written = 0;
	#closed = false;

	/** `limit`: lines after which `write` says that it is enough. */
	constructor(limit = Number.POSITIVE_INFINITY) {
		this.#limit = limit;
		this.gone = new Promise((resolve, reject) => {
			process.stdout.on('error', (error) => {
				this.#closed = true;
				if (codeOf(error) === 'EPIPE') resolve();
				else reject(error);
			});
		});
		this.gone.catch(() => undefined);
	}

	/** What is written and was not read yet is given up, so that the process can end. */
	abandon(): void {
		this.#closed = true;
		abandoned = true;
	}

	/** Writes `lines` lines, as far as the limit allows. False: no more is wanted. */
	async write(text: Buffer | string, lines: number): Promise<boolean> {
		if (this.#closed || this.#written >= this.#limit) return false;
		const room = this.#limit - this.#written;
		const part = lines <= room ? text : firstLines(Buffer.from(text), room);
		this.#written += Math.min(lines, room);
		await new Promise<void>((resolve, reject) => {
			process.stdout.write(part, (error) => {
				if (error == null || codeOf(error) === 'EPIPE') resolve();
				else reject(toError(error));
			});
		});
		return !this.#closed && this.#written < this.#limit;
	}
}

function firstLines(text: Buffer, count: number): Buffer {
	let end = 0;
	for (let line = 0; line < count; line += 1) {
		const feed = text.indexOf(0x0a, end);
		if (feed < 0) return text;
		end = feed + 1;
	}
	return text.subarray(0, end);
}
