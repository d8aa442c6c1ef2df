/** What start.mjs, test.mjs and interop.mjs share: is this a machine for it, is what was built current. Plain Node. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** What the addon is built from. */
const RUST_SOURCES = ['crates', 'Cargo.toml', 'Cargo.lock', '.cargo'];
const TYPESCRIPT_SOURCES = [
	'lib',
	'package.json',
	'tsconfig.json',
	'tsconfig.build.json',
	'binding/native.d.cts',
];
const NOT_SOURCES = new Set(['target', 'node_modules', 'benches', 'tests', 'fuzz']);

/** Says what is missing before anything is compiled, and ends with 1. */
export function requireMachine() {
	if (process.platform !== 'linux') {
		fail(
			`conntrack-ipfix reads Linux's connection tracking and cannot run on ${process.platform}: use a Linux machine`,
		);
	}
	const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
	if (!((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22)) {
		fail(`Node ^20.19 or >=22.12 is needed, this is ${process.versions.node}`);
	}
}

/** Installs dependencies, builds the addon and the JavaScript; each only when it is missing or out of date. */
export function build() {
	const installed = 'node_modules/.package-lock.json';
	if (timeOf(installed) < timeOf('package-lock.json')) {
		say('installing dependencies');
		step('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
		touch(installed);
	}
	const addon = `binding/conntrack-ipfix.linux-${process.arch}-gnu.node`;
	if (timeOf(addon) < newest(RUST_SOURCES)) {
		say('building the addon, which takes a few minutes the first time');
		step('npm', ['run', '--silent', 'build:native']);
		touch(addon);
	}
	if (timeOf('dist/cli/main.js') < newest(TYPESCRIPT_SOURCES)) {
		step('npm', ['run', '--silent', 'build:ts']);
		touch('dist/cli/main.js');
	}
}

/** Runs a command with all its output on stderr, so that stdout carries nothing else; ends when it fails. */
export function step(command, args) {
	const status = attempt(command, args, ['ignore', 2, 2]);
	if (status !== 0) fail(`"${command} ${args.join(' ')}" failed`);
}

/** npm puts its packages' programs first, and one of them is called nft, as nftables' is. */
const PATH = (process.env.PATH ?? '')
	.split(':')
	.filter((folder) => !folder.endsWith('/node_modules/.bin'))
	.join(':');

/** Runs a command and returns its exit code. */
export function attempt(command, args, stdio = 'inherit') {
	const { status, error } = spawnSync(command, args, { cwd: root, stdio, env: { ...process.env, PATH } });
	if (error !== undefined) {
		fail(error.code === 'ENOENT' ? `${command} is needed and was not found` : `${command}: ${error.message}`);
	}
	return status ?? 1;
}

export function say(text) {
	console.error(`conntrack-ipfix: ${text}`);
}

export function fail(text) {
	say(text);
	process.exit(1);
}

/** Compilers leave a file alone that would not change; its time must say that it is current all the same. */
function touch(path) {
	if (existsSync(join(root, path))) utimesSync(join(root, path), new Date(), new Date());
}

/** 0 when there is no such file. */
function timeOf(path) {
	return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function newest(paths) {
	return Math.max(...paths.map(newestIn));
}

function newestIn(path) {
	const found = statSync(join(root, path), { throwIfNoEntry: false });
	if (found === undefined) return 0;
	if (!found.isDirectory()) return found.mtimeMs;
	const inside = readdirSync(join(root, path))
		.filter((name) => !NOT_SOURCES.has(name))
		.map((name) => newestIn(join(path, name)));
	return Math.max(0, ...inside);
}
