/**
 * Other programs, run as processes of their own: bounded in time and output, ended by their pid, and killed by the
 * kernel when the scenario that started them dies.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sleep } from '../../__test__/support/kernel.ts';

/** Not the PATH of npm: an `nft` of node_modules/.bin is another program. */
export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
/** Of stdout and stderr together. ipfixDump prints for ever when it misses a template. */
const MAX_OUTPUT = 32 * 1024 * 1024;
const PATIENCE_MS = 40_000;

const running = new Set<ChildProcess>();
process.on('exit', () => {
	for (const child of running) child.kill('SIGKILL');
});
process.on('SIGTERM', () => process.exit(1));

interface Piping {
	/** The program whose stdout is this one's stdin. */
	from?: Program;
	/** Its stdout is another one's stdin, and is not kept here. */
	piped?: boolean;
}

export class Program {
	stdout = '';
	stderr = '';
	readonly name: string;
	readonly child: ChildProcess;
	readonly #closed: Promise<unknown>;
	#failure: Error | undefined;

	constructor(command: string, args: readonly string[], { from, piped = false }: Piping = {}) {
		this.name = [command, ...args].join(' ');
		const child = spawn('setpriv', ['--pdeathsig', 'KILL', command, ...args], {
			stdio: [from === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
			env: { ...process.env, PATH, TZ: 'UTC' },
		});
		this.child = child;
		running.add(child);
		if (from !== undefined && child.stdin !== null) {
			child.stdin.on('error', () => undefined);
			from.child.stdout?.pipe(child.stdin);
		}
		for (const name of piped ? (['stderr'] as const) : (['stdout', 'stderr'] as const)) {
			child[name]?.setEncoding('utf8').on('data', (text: string) => {
				this[name] += text;
				if (this.stdout.length + this.stderr.length > MAX_OUTPUT) this.#fail('printed too much');
			});
		}
		child.once('error', (error) => this.#fail(error.message));
		this.#closed = once(child, 'close').then(
			() => running.delete(child),
			() => running.delete(child),
		);
	}

	get hasEnded(): boolean {
		return this.child.exitCode !== null || this.child.signalCode !== null;
	}

	#fail(what: string): void {
		this.#failure ??= new Error(`${this.name}: ${what}`);
		this.child.kill('SIGKILL');
	}

	#describe(what: string): Error {
		const end = (text: string) => text.slice(-2_000);
		return new Error(`${this.name}: ${what}\nstdout: ${end(this.stdout)}\nstderr: ${end(this.stderr)}`);
	}

	/** Waits until it printed what `pattern` matches. */
	async printed(pattern: RegExp): Promise<void> {
		await this.until(`printed ${pattern}`, () => pattern.test(this.stdout) || pattern.test(this.stderr));
	}

	/** Waits until `holds`; fails when the program ends before that. */
	async until(what: string, holds: () => boolean): Promise<void> {
		for (let waited = 0; !holds(); waited += 50) {
			if (this.#failure !== undefined) throw this.#failure;
			if (this.hasEnded) throw this.#describe(`ended before it ${what}`);
			if (waited > PATIENCE_MS) throw this.#describe(`waited in vain until it ${what}`);
			await sleep(50);
		}
	}

	/** Waits until it listens on `port` of this namespace. */
	async listens(protocol: 'tcp' | 'udp', port: number): Promise<this> {
		await this.until(`listened on ${protocol} ${port}`, () => isBound(protocol, port));
		return this;
	}

	/** Sends the signal, if one is given, and waits for the end; the exit code, or the signal that ended it. */
	async ended(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
		if (signal !== undefined && !this.hasEnded) this.child.kill(signal);
		const timer = setTimeout(() => this.#fail('did not end'), PATIENCE_MS);
		await this.#closed;
		clearTimeout(timer);
		if (this.#failure !== undefined) throw this.#describe(this.#failure.message);
		return this.child.exitCode ?? this.child.signalCode;
	}

	/** As `ended`, and fails unless the exit code is 0. */
	async succeeded(signal?: NodeJS.Signals): Promise<this> {
		const code = await this.ended(signal);
		if (code !== 0) throw this.#describe(`ended with ${code}`);
		return this;
	}
}

/** Runs a program to its end and gives its stdout. */
export async function output(command: string, ...args: string[]): Promise<string> {
	return (await new Program(command, args).succeeded()).stdout;
}

/** `conntrack-ipfix`, as it is installed. */
export function conntrackIpfix(...args: string[]): Program {
	return new Program(process.execPath, [MAIN, ...args]);
}

/** Whether a socket of this namespace is bound to the port; TCP ones only when they listen. */
function isBound(protocol: 'tcp' | 'udp', port: number): boolean {
	const LISTEN = '0A';
	return socketsOn(protocol, port).some(({ state }) => protocol === 'udp' || state === LISTEN);
}

/** Waits until whoever is bound to the UDP port has read everything that came. */
export async function datagramsRead(port: number): Promise<void> {
	for (let waited = 0; socketsOn('udp', port).some(({ unread }) => unread > 0); waited += 20) {
		if (waited > PATIENCE_MS) throw new Error(`the datagrams on port ${port} are not read`);
		await sleep(20);
	}
}

function socketsOn(protocol: 'tcp' | 'udp', port: number): Array<{ state: string; unread: number }> {
	const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
	return ['', '6'].flatMap((family) =>
		readFileSync(`/proc/net/${protocol}${family}`, 'utf8')
			.split('\n')
			.slice(1)
			.map((line) => line.trim().split(/\s+/))
			.filter(([, address]) => address?.endsWith(local))
			.map(([, , , state = '', queues = '']) => ({
				state,
				unread: Number.parseInt(queues.split(':')[1] ?? '0', 16),
			})),
	);
}
