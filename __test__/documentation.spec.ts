import { readdir, readFile, stat } from 'node:fs/promises';
import test from 'ava';
import { Collector, FlowExporter } from '../lib/index.ts';
import { FIELDS } from '../lib/options/fields.ts';
import { ROWS } from '../lib/options/options.ts';
import { COLLECTOR_ROWS } from '../lib/options/target_settings.ts';
import { apiPage } from '../scripts/docs/api.ts';
import { interfacesOf, publicDeclarations } from '../scripts/docs/declarations.ts';
import { withTables } from '../scripts/docs/tables.ts';

const root = new URL('../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');

test("the README's tables of options are those that options are checked by", async (t) => {
	const readme = await read('README.md');
	t.is(withTables(readme), readme, 'run: npm run docs');
	t.is(readme.match(/<!-- table \w+/g)?.length, 3);
});

test('the page of the API says what the shipped types say', async (t) => {
	t.is(await read('docs/api.md'), apiPage(), 'run: npm run docs');
});

test('the defaults that the types promise are those of the tables', async (t) => {
	const types = interfacesOf(publicDeclarations());
	const membersOf = (...names: string[]) =>
		types.filter(({ name }) => names.includes(name)).flatMap(({ members }) => members);
	let compared = 0;
	for (const [rows, members] of [
		[ROWS, membersOf('ExporterOptions', 'ConnectionFilters')],
		[COLLECTOR_ROWS, membersOf('CollectorTarget')],
	] as const) {
		for (const [name, { default: value }] of Object.entries(rows)) {
			if (value === undefined) continue;
			const doc = members.find((member) => member.name === name)?.doc ?? '';
			const promised = /@default (.*)/.exec(doc)?.[1]?.replaceAll("'", '') ?? '';
			t.is(promised.split(';', 1)[0], String(value), name);
			compared += 1;
		}
	}
	t.true(compared > 25);
});

test('the page has every member of a class, each described by itself, and every type that they name', async (t) => {
	const page = await read('docs/api.md');
	const headings = page.match(/^### .*/gm) ?? [];
	t.is(new Set(headings).size, headings.length, 'each once');
	for (const made of [FlowExporter, Collector]) {
		const section = page.split(`### ${made.name}\n`)[1]?.split('\n### ', 1)[0] ?? '';
		const names = Object.getOwnPropertyNames(made.prototype);
		t.true(names.length > 5);
		for (const name of names)
			t.regex(section, new RegExp(`^\`(get )?${name}\\([^;]*\`  \\n.`, 'm'), made.name);
	}
	for (const [, type = ''] of page.matchAll(/AsyncGenerator<(\w+)/g))
		t.regex(page, new RegExp(`^### ${type}$`, 'm'));
});

test("the README's record is such as one is", async (t) => {
	const [, json = ''] = /```json\n(.*)\n```/.exec(await read('README.md')) ?? [];
	const { message, ...elements } = JSON.parse(json) as { message: object };
	const types = interfacesOf(publicDeclarations());
	const membersOf = (name: string) =>
		types.find((type) => type.name === name)?.members.map((member) => member.name) ?? [];
	t.deepEqual(Object.keys(message), membersOf('RecordMessage'));
	t.true(Object.keys(elements).length > 15);
	for (const element of Object.keys(elements)) t.true(element in FIELDS, element);
});

/** Codes as they are written where errors and warnings are made: `code: 'X'`, `warn('X'`, `"X"` beside a Rust message. */
const MADE = [
	/['"](ERR_[A-Z_]+)['"]/g,
	/code: ['"]([A-Z]+(?:_[A-Z]+)+)['"]/g,
	/[wW]arn\(\s*['"]([A-Z]+(?:_[A-Z]+)+)['"]/g,
	/\(\s*"([A-Z]+(?:_[A-Z]+)+)",/g,
];

async function codesIn(folder: string): Promise<string[]> {
	const names = await readdir(new URL(folder, root), { recursive: true });
	const sources = names.filter((name) => /\.(ts|rs)$/.test(name));
	const texts = await Promise.all(sources.map((name) => read(`${folder}/${name}`)));
	return texts.flatMap((text) =>
		MADE.flatMap((made) => [...text.matchAll(made)].map(([, code = '']) => code)),
	);
}

test('every code of an error or warning is on its page, and no other', async (t) => {
	const folders = ['lib', 'crates/netfilter/src', 'crates/agent/src', 'crates/node/src'];
	const made = new Set((await Promise.all(folders.map(codesIn))).flat());
	const page = await read('docs/errors.md');
	const documented = new Set([...page.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code = '']) => code));
	for (const known of ['ERR_OPTION', 'TABLE_FULL', 'EVENTS_MISSING', 'ACCOUNTING_OFF', 'SETTINGS_UNREADABLE'])
		t.true(made.has(known), known);
	t.deepEqual([...documented].sort(), [...made].sort());
});

test('the architecture is a short page whose paths and names are there, as are those of CONTRIBUTING', async (t) => {
	const architecture = await read('docs/architecture.md');
	t.true(architecture.split('\n').length <= 121);
	const page = architecture + (await read('CONTRIBUTING.md')).replaceAll(/`[^`]*NAME[^`]*`/g, '');
	const places = [
		...page.matchAll(
			/`((?:lib|crates|docs|scripts|__test__)\/[\w./-]+)`(?: \(`([\w ]+)`\)|, `(struct \w+)`)?/g,
		),
	];
	t.true(places.length > 50);
	for (const [, path = '', name = '', other = name] of places) {
		const files = await filesOf(path);
		t.not(files.length, 0, path);
		if (other === '') continue;
		const texts = await Promise.all(files.map(read));
		t.true(
			texts.some((text) => new RegExp(`\\b${other}\\b`).test(text)),
			`${other} in ${path}`,
		);
	}
});

/** The file, or the sources of the folder. */
async function filesOf(path: string): Promise<string[]> {
	const found = await stat(new URL(path, root)).catch(() => undefined);
	if (found === undefined) return [];
	if (!found.isDirectory()) return [path];
	const names = await readdir(new URL(path, root), { recursive: true });
	return names.filter((name) => /\.\w+$/.test(name)).map((name) => `${path}/${name}`);
}
