import { readFile } from 'node:fs/promises';
import test from 'ava';
import { withTables } from '../scripts/docs/tables.ts';

const root = new URL('../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');

test("the README's tables of options are those that options are checked by", async (t) => {
	const readme = await read('README.md');
	t.is(withTables(readme), readme, 'run: npm run docs');
	t.is(readme.match(/<!-- table \w+/g)?.length, 3);
});
