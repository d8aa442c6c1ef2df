import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { scenario } from './support/report.ts';

const SOURCE = fileURLToPath(new URL('go-ipfix/', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'conntrack-ipfix-go-'));
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

test('go-ipfix builds the same octets of a Pod’s connection to a Service with policies of both directions', async (t) => {
	const program = join(folder, 'record');
	try {
		await promisify(execFile)('go', ['build', '-o', program, './record'], { cwd: SOURCE });
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
		throw new Error('go was not found: install Go 1.26 or later (go.dev/doc/install) for go-ipfix', {
			cause: error,
		});
	}
	interface Report {
		exported: string;
		built: string;
		endIsWithin: boolean;
		counts: number[];
	}
	const { exported, built, endIsWithin, counts } = await scenario<Report>('go_ipfix_names', program);
	t.is(exported, built);
	t.true(endIsWithin);
	t.true(counts.every((count) => count > 0));
});
