/** `npm run docs`, after a build: writes what the documentation takes from the code. A test fails when they differ. */
import { readFileSync, writeFileSync } from 'node:fs';
import { apiPage } from './docs/api.ts';
import { withTables } from './docs/tables.ts';

const README = new URL('../README.md', import.meta.url);
writeFileSync(README, withTables(readFileSync(README, 'utf8')));
writeFileSync(new URL('../docs/api.md', import.meta.url), apiPage());
