/** Runs a scenario, a script of `scenarios/`, in a network namespace of its own, and gives what it reported. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const SCENARIOS = new URL('../scenarios/', import.meta.url);
/** Networks and mounts of its own. Root needs no more; others need a user namespace to own them. */
export const UNSHARE = process.getuid?.() === 0 ? ['-nm'] : ['-Urnm'];

export interface Ended {
	code: number | null;
	signal: NodeJS.Signals | null;
	stdout: string;
	stderr: string;
}

/** Runs a program to its end. `input` is written to its stdin. */
export function runProgram(
	command: string,
	args: readonly string[],
	environment: NodeJS.ProcessEnv = {},
): Promise<Ended> {
	return new Promise((resolve, reject) => {
		const child = spawn(command, args, {
			stdio: ['ignore', 'pipe', 'pipe'],
			env: { ...process.env, ...environment },
		});
		let stdout = '';
		let stderr = '';
		child.stdout.setEncoding('utf8').on('data', (text: string) => {
			stdout += text;
		});
		child.stderr.setEncoding('utf8').on('data', (text: string) => {
			stderr += text;
		});
		child.once('error', reject);
		child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
	});
}

/** The command that runs a TypeScript file in a namespace of its own. */
export function namespaced(script: string, ...args: string[]): [string, string[]] {
	return ['unshare', [...UNSHARE, process.execPath, '--import=tsx', script, ...args]];
}

/** The scenario's report: the JSON that it printed last. Rejects with its stderr when it failed. */
export async function inNamespace<T>(scenario: string): Promise<T> {
	const [command, args] = namespaced(fileURLToPath(new URL(`${scenario}.ts`, SCENARIOS)));
	const { code, signal, stdout, stderr } = await runProgram(command, args);
	if (code !== 0) throw new Error(`scenario ${scenario} ended with ${code ?? signal}:\n${stderr}`);
	return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as T;
}
