import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import test from 'ava';
import { interfacesOf, publicDeclarations } from '../scripts/docs/declarations.ts';
import { temporaryFolder } from './support/folder.ts';
import { runProgram } from './support/namespace.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

/** A project of somebody else with this package as installed, and the programs of `programs/`. */
function project(compilerOptions: object, files: readonly string[]): string {
	const folder = temporaryFolder('types');
	const modules = join(folder, 'node_modules');
	mkdirSync(modules);
	symlinkSync(root, join(modules, 'conntrack-ipfix'));
	symlinkSync(join(root, 'node_modules/@types'), join(modules, '@types'));
	symlinkSync(join(root, 'node_modules/undici-types'), join(modules, 'undici-types'));
	cpSync(join(root, '__test__/programs'), folder, { recursive: true });
	writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
	const strict = {
		strict: true,
		noEmit: true,
		target: 'es2022',
		lib: ['es2023', 'esnext.disposable'],
		types: ['node'],
	};
	writeFileSync(
		join(folder, 'tsconfig.json'),
		JSON.stringify({ compilerOptions: { ...strict, ...compilerOptions }, files }),
	);
	return folder;
}

async function complaints(folder: string): Promise<string> {
	const tsc = join(root, 'node_modules/typescript/bin/tsc');
	return (await runProgram(process.execPath, [tsc, '--project', folder])).stdout;
}

test('what is shipped lets right programs compile, and wrong ones not', async (t) => {
	const both = ['good.ts', 'bad.ts'];
	for (const options of [
		{ module: 'nodenext' },
		{ module: 'nodenext', exactOptionalPropertyTypes: true, noPropertyAccessFromIndexSignature: true },
		{ module: 'esnext', moduleResolution: 'bundler' },
	])
		t.is(await complaints(project({ ...options, skipLibCheck: false }, both)), '');
});

test('the examples compile as they are', async (t) => {
	const folder = project({ module: 'nodenext', allowJs: true, checkJs: true }, [
		'agent.mjs',
		'collector.mjs',
	]);
	cpSync(join(root, 'examples'), folder, { recursive: true });
	t.is(await complaints(folder), '');
});

test('CommonJS programs in TypeScript compile, and run', async (t) => {
	for (const module of ['node16', 'node18', 'nodenext'])
		t.is(await complaints(project({ module, skipLibCheck: false }, ['common.cts'])), '', module);
	const folder = project({ module: 'node16', noEmit: false, outDir: 'out', skipLibCheck: true }, [
		'common.cts',
	]);
	t.is(await complaints(folder), '');
	const { stdout, stderr, code } = await runProgram(process.execPath, [join(folder, 'out/common.cjs')]);
	t.deepEqual([stdout, stderr, code], ['new\ncollectors[0]\n1\n', '', 0]);
});

test('CommonJS programs are told of every value that there is', async (t) => {
	const declared = readFileSync(join(root, 'dist/index.d.cts'), 'utf8').matchAll(
		/^export declare const (\w+)/gm,
	);
	const there = Object.keys(await import(pathToFileURL(join(root, 'dist/index.js')).href));
	t.deepEqual([...declared].map(([, name]) => name).sort(), there.sort());
});

test('every member of a public type is described in what is shipped', (t) => {
	const shipped = interfacesOf(publicDeclarations());
	const names = shipped.map(({ name }) => name);
	for (const name of [
		'ExporterOptions',
		'CollectorTarget',
		'ExporterStats',
		'TableStats',
		'PollSummary',
		'FlowRecord',
	])
		t.true(names.includes(name), name);
	t.true((shipped.find(({ name }) => name === 'ExporterOptions')?.members.length ?? 0) > 30);
	for (const { name, doc, members } of shipped) {
		t.not(doc, '', name);
		for (const member of members) t.not(member.doc, '', `${name}.${member.name}`);
	}
	const options = shipped.filter(({ name }) =>
		/^(ExporterOptions|CollectorTarget|ConnectionFilters)$/.test(name),
	);
	t.regex(
		options.flatMap(({ members }) => members).find(({ name }) => name === 'pollInterval')?.doc ?? '',
		/At least 100 ms\.[\s\S]*@default '5s'/,
	);
});
