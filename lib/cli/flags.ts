/** Flags and help from the table of options. Variables of the environment have the same names. */
import { type Command, Option } from 'commander';
import { ROWS } from '../options/options.ts';
import type { FlagKind, OptionRow } from '../options/row.ts';
import type { OptionName } from '../options/table.ts';

export interface Flag {
	option: OptionName;
	/** Without the two dashes. */
	name: string;
	kind: FlagKind;
	row: OptionRow;
}

export const FLAGS: readonly Flag[] = Object.entries(ROWS).flatMap(([option, row]) =>
	row.flag === undefined
		? []
		: [{ option: option as OptionName, name: row.flag, kind: row.kind ?? 'text', row }],
);

/** Adds the flags of the exporter, or of the selection only. */
export function addFlags(command: Command, which: 'all' | 'selection'): void {
	if (which === 'all') command.option('-c, --config <FILE>', 'YAML file with options in camelCase');
	for (const { name, kind, row } of FLAGS) {
		if (which === 'selection' && row.selection === undefined) continue;
		if (kind === 'switch') {
			command.addOption(new Option(`--${name}`, helpOf(row)));
			command.addOption(new Option(`--no-${name}`, `not that, whatever the environment or the file says`));
			continue;
		}
		const option = new Option(`--${name} <${row.argument}>`, helpOf(row));
		if (kind === 'texts' || kind === 'numbers') {
			option.argParser((value: string, previous: string[] | undefined) => [
				...(previous ?? []),
				...splitList(value),
			]);
		}
		command.addOption(option);
	}
}

/** What the value is without the option; Markdown, empty where there is nothing to say. */
export function defaultOf(row: Pick<OptionRow, 'default' | 'defaultText'>): string {
	if (row.defaultText !== undefined) return row.defaultText;
	if (row.default === undefined) return '';
	if (typeof row.default === 'boolean') return row.default ? 'yes' : 'no';
	return typeof row.default === 'number' ? row.default.toLocaleString('en') : `\`${row.default}\``;
}

function helpOf(row: OptionRow): string {
	const text = defaultOf(row);
	return plain(text === '' || row.kind === 'switch' ? row.meaning : `${row.meaning} (default: ${text})`);
}

/** Markdown as a terminal shows it. */
function plain(markdown: string): string {
	return markdown.replaceAll('`', '').replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1');
}

/** An empty part stays, for the check to complain of: an empty list would select everything unsaid. */
export function splitList(text: string): string[] {
	return text.split(',').map((part) => part.trim());
}
