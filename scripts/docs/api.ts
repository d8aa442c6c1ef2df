/** The text of docs/api.md: everything that is public, from the declarations that the compiler emits. */
import { type Declared, type Member, publicDeclarations } from './declarations.ts';

const HEAD = `# API

Written by \`npm run docs\` from the types that are shipped; a test fails when they differ. All names are exported by the package: \`import { FlowExporter } from 'conntrack-ipfix'\`, or \`require('conntrack-ipfix')\` from CommonJS, also in TypeScript (with \`moduleResolution\` node16, nodenext or bundler). [errors.md](errors.md) has the codes of all errors and warnings, [delivery.md](delivery.md) what is promised, [elements.md](elements.md) the elements of records.
`;

/** From the built declarations: `npm run build:ts` before. */
export function apiPage(): string {
	const all = publicDeclarations();
	const named = (...names: string[]) => names.flatMap((name) => all.filter((type) => type.name === name));
	const sections: Array<[string, Declared[]]> = [
		[
			'Exporter',
			named('FlowExporter', 'ExporterEvents', 'ExporterStats', 'TableStats', 'SessionStats', 'PollSummary'),
		],
		['Options of the exporter', named('ExporterOptions', 'ConnectionFilters', 'CollectorTarget')],
		['Dump', named('dump', 'Connection')],
		[
			'Collector',
			[
				...named('Collector'),
				...all.filter(({ name }) => /^(Collector(?!Target|Input).|Chunk$|Transport$)/.test(name)),
				...named('FlowRecord'),
			],
		],
		['Errors', named('AgentError', 'OptionError')],
	];
	const placed = new Set(sections.flatMap(([, declared]) => declared));
	sections.push(['Other types', all.filter((declared) => !placed.has(declared))]);
	return [HEAD, ...sections.map(([title, list]) => `## ${title}\n\n${list.map(section).join('\n')}`)].join(
		'\n',
	);
}

function section(declared: Declared): string {
	const { kind, name, heritage, members } = declared;
	const { text, example } = partsOf(declared.doc);
	const first =
		kind === 'class' || kind === 'interface'
			? heritageOf(heritage)
			: `\`\`\`ts\n${kind} ${name}${heritage}\n\`\`\``;
	const code = example === '' ? '' : `\`\`\`js\n${example}\n\`\`\``;
	const own = members.filter(({ text: signature }) => !signature.startsWith('#'));
	const list = own.length === 0 ? '' : kind === 'class' ? own.map(method).join('\n\n') : table(own);
	return `${[`### ${name}`, text, first, code, list].filter((part) => part !== '').join('\n\n')}\n`;
}

function heritageOf(heritage: string): string {
	const base = /extends (\w+)/.exec(heritage)?.[1];
	const elements = [...heritage.matchAll(/'(\w+)'/g)].map(([, name]) => `\`${name}\``).join(', ');
	const parts = [
		base === 'EventEmitter' ? eventsOf(heritage) : '',
		base === undefined || base === 'EventEmitter' || base === 'Pick' ? '' : `Has all of \`${base}\`, too.`,
		elements === '' ? '' : `Has these elements, each where there is something to say: ${elements}.`,
	];
	return parts.filter((part) => part !== '').join(' ');
}

function eventsOf(heritage: string): string {
	return `An \`EventEmitter\` of \`${/EventEmitter<(\w+)>/.exec(heritage)?.[1]}\`.`;
}

function method({ text: signature, doc }: Member): string {
	return `\`${signature.replace(/;$/, '')}\`  \n${partsOf(doc).text}`;
}

function table(members: readonly Member[]): string {
	const hasDefaults = members.some(({ doc }) => doc.includes('@default'));
	const head = hasDefaults
		? '| name | type | default | |\n|---|---|---|---|'
		: '| name | type | |\n|---|---|---|';
	const rows = members.map((member) => {
		const { text, example, standard } = partsOf(member.doc);
		const meaning = example === '' ? text : `${text} Such as ${inline(example)}.`;
		const cells = [`\`${member.name}\``, inline(typeOf(member)), ...(hasDefaults ? [standard] : []), meaning];
		return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
	});
	return `${head}\n${rows.join('\n')}`;
}

/** Without name, and without the `undefined` that every optional member takes. */
function typeOf({ name, text }: Member): string {
	const type = text.slice(text.indexOf(name) + name.length).replace(/^\??: /, '');
	return type.replace(/;$/, '').replace(/ \| undefined$/, '');
}

/** A comment is its text, and its tags. */
function partsOf(doc: string): { text: string; example: string; standard: string } {
	const [text = '', ...tags] = doc.split(/^@/m);
	const all = (tag: string) =>
		tags.filter((part) => part.startsWith(tag)).map((part) => part.slice(tag.length).trim());
	return {
		text: text.trim().replaceAll('\n', ' '),
		example: all('example').join('`, `'),
		standard: all('default').join(' '),
	};
}

function inline(code: string): string {
	return `\`${code}\``;
}
