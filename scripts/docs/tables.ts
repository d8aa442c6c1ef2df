/** The README's tables of options, from the tables that the options are checked by. */
import { defaultOf } from '../../lib/cli/flags.ts';
import type { CollectorRow } from '../../lib/options/collector_table.ts';
import { ROWS } from '../../lib/options/options.ts';
import type { OptionRow } from '../../lib/options/row.ts';
import { COLLECTOR_ROWS } from '../../lib/options/target_settings.ts';

const TRANSPORTS = { tcp: 'TCP', tls: 'TLS', udp: 'UDP', file: 'file' } as const;

/** By the name that the README's marks have. */
export const TABLES: Readonly<Record<string, () => string>> = {
	flags: () =>
		table(
			'option',
			Object.values(ROWS).flatMap((row) => (row.flag === undefined ? [] : [[flagOf(row), row] as const])),
		),
	collector: () =>
		table(
			'option of a collector',
			Object.entries(COLLECTOR_ROWS).map(([name, row]) => [
				nameOf(name, row),
				{ ...row, meaning: forTransports(row) },
			]),
		),
	file: () =>
		table(
			'option',
			Object.entries(ROWS).flatMap(([name, row]) =>
				row.flag === undefined ? [[nameOf(name, row), row] as const] : [],
			),
		),
};

function table(
	heading: string,
	rows: ReadonlyArray<readonly [string, Pick<OptionRow, 'default' | 'defaultText' | 'meaning'>]>,
): string {
	const lines = rows.map(
		([name, row]) => `| ${cell(name)} | ${cell(defaultOf(row))} | ${cell(row.meaning)} |`,
	);
	return [`| ${heading} | default | meaning |`, '|---|---|---|', ...lines, ''].join('\n');
}

function flagOf({ flag = '', kind, argument }: OptionRow): string {
	return kind === 'switch' ? `\`--${flag}\`, \`--no-${flag}\`` : `\`--${flag} ${argument}\``;
}

function nameOf(name: string, { parts }: Pick<OptionRow, 'parts'>): string {
	return parts === undefined ? `\`${name}\`` : `\`${name}: ${parts}\``;
}

function forTransports({ usedBy, meaning }: CollectorRow): string {
	if (usedBy === undefined) return meaning;
	return `${usedBy.map((kind) => TRANSPORTS[kind]).join(', ')}: ${meaning}`;
}

function cell(markdown: string): string {
	return markdown.replaceAll('|', '\\|');
}

const MARKED = /<!-- table (\w+): [^>]*-->\n[\s\S]*?<!-- end -->/g;

/** The page with each marked table as it has to be. */
export function withTables(page: string): string {
	return page.replaceAll(MARKED, (_, name: string) => {
		const text = TABLES[name]?.();
		if (text === undefined) throw new Error(`there is no table ${name}`);
		return `<!-- table ${name}: written by npm run docs -->\n\n${text}\n<!-- end -->`;
	});
}
