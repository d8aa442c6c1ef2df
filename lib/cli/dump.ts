/** `dump`: one pass over the kernel's table. */
import { parseLines } from '../collector/collector.ts';
import { dumpLines } from '../dump.ts';
import { resolveSelection } from '../options/options.ts';
import { Output } from './output.ts';
import { environmentLayer, flagLayer } from './settings.ts';
import { Table } from './table.ts';

const LINE_FEED = 0x0a;

export async function dump(flags: Readonly<Record<string, unknown>>): Promise<number> {
	const settings = resolveSelection([environmentLayer(process.env, 'selection'), flagLayer(flags)], 'text');
	const output = new Output();
	const table = flags['format'] === 'table' ? new Table() : undefined;
	for await (const json of dumpLines(settings)) {
		if (json.length === 0) continue;
		const text = table === undefined ? json : table.lines(parseLines(json));
		if (
			!(await output.write(
				text,
				json.reduce((lines, octet) => lines + (octet === LINE_FEED ? 1 : 0), 0),
			))
		)
			break;
	}
	return 0;
}
