/**
 * `demo`: a private network namespace (and a user namespace, unless root), tracking turned on there, real traffic on
 * loopback, and the exporter with the embedded collector on it. Node cannot leave its namespaces itself, because it
 * has several threads: it starts itself again through `unshare`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { native } from '../core/native.ts';
import { AgentError, codeOf, messageOf } from '../errors.ts';
import { createLogger } from './log.ts';
import { Loopback } from './loopback.ts';
import { serve } from './run.ts';
import { loadSettings } from './settings.ts';
import { startTraffic } from './traffic.ts';

export interface DemoFlags {
	count?: number;
	inside?: boolean;
}

/** Short, so that every kind of record is seen within seconds. */
const SETTINGS = {
	pollInterval: '500ms',
	activeTimeout: '2s',
	idleTimeout: '1s',
	staleTimeout: '30s',
	logLevel: 'warn',
};

export function demo(flags: DemoFlags): Promise<number> {
	return flags.inside === true ? inside(flags) : outside(flags);
}

async function outside({ count }: DemoFlags): Promise<number> {
	const namespaces = process.getuid?.() === 0 ? '-n' : '-Urn';
	const probe = spawnSync('unshare', [namespaces, 'true'], { encoding: 'utf8' });
	if (probe.error !== undefined || probe.status !== 0) {
		throw new AgentError('ERR_UNSHARE', whyNot(codeOf(probe.error), probe.stderr?.trim() ?? ''));
	}
	const script = process.argv[1] ?? '';
	const child = spawn(
		'unshare',
		[
			namespaces,
			process.execPath,
			...process.execArgv,
			script,
			'demo',
			'--inside',
			...(count === undefined ? [] : ['--count', String(count)]),
		],
		{ stdio: 'inherit' },
	);
	// Ctrl-C reaches the child by itself; a signal to this process alone has to be passed on. The child counts them.
	const pass = (signal: NodeJS.Signals) => child.kill(signal);
	process.on('SIGINT', pass).on('SIGTERM', pass);
	return new Promise((resolve, reject) => {
		child.once('error', reject);
		child.once('exit', (code, signal) =>
			resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
		);
	});
}

async function inside({ count }: DemoFlags): Promise<number> {
	try {
		native().enableTracking();
	} catch (error) {
		throw new AgentError(
			'ERR_UNSHARE',
			`cannot turn tracking on in the private namespace: ${whyNot(codeOf(error), messageOf(error))}`,
		);
	}
	const loopback = await Loopback.open();
	const layer = { values: SETTINGS, nameOf: (option: string) => option };
	const { settings } = await loadSettings({}, {}, [layer, loopback.layer]);
	const log = createLogger({ level: settings.logLevel });
	const traffic = await startTraffic();
	try {
		return await serve(settings, log, loopback, count ?? Number.POSITIVE_INFINITY);
	} finally {
		traffic.stop();
	}
}

/** One sentence that names the switch which forbids a private namespace. */
function whyNot(code: string | undefined, message: string): string {
	if (code === 'ENOENT') return 'the program "unshare" is missing: install the package util-linux';
	if (setting('user/max_user_namespaces') === '0') {
		return 'this machine allows no user namespaces: raise the sysctl user.max_user_namespaces, or run as root';
	}
	if (setting('kernel/apparmor_restrict_unprivileged_userns') === '1') {
		return 'AppArmor restricts unprivileged user namespaces: set the sysctl kernel.apparmor_restrict_unprivileged_userns to 0, or run as root';
	}
	if (setting('kernel/unprivileged_userns_clone') === '0') {
		return 'this machine allows no unprivileged user namespaces: set the sysctl kernel.unprivileged_userns_clone to 1, or run as root';
	}
	if (/^Seccomp:\s*2$/m.test(readIfThere('/proc/self/status'))) {
		return `a seccomp filter forbids new namespaces: run the container with --security-opt seccomp=unconfined and --cap-add SYS_ADMIN --cap-add NET_ADMIN (${message})`;
	}
	return `a private network namespace cannot be made here, which seccomp, AppArmor or user.max_user_namespaces may forbid (${message})`;
}

function setting(name: string): string {
	return readIfThere(`/proc/sys/${name}`).trim();
}

function readIfThere(path: string): string {
	try {
		return readFileSync(path, 'utf8');
	} catch {
		return '';
	}
}
