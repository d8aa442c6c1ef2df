/** Reads the declarations that the compiler emits, as far as documentation needs them: what is exported, with its comments. */
import { readFileSync } from 'node:fs';

export interface Declared {
	/** `interface`, `class`, `type` or `function`. */
	kind: string;
	name: string;
	/** What follows the name in the first line, such as ` extends Amount`. */
	heritage: string;
	/** The text of its comment, without stars. */
	doc: string;
	members: Member[];
}

export interface Member {
	/** For a signature the name alone. */
	name: string;
	optional: boolean;
	/** The declaration without its comment, on one line. */
	text: string;
	doc: string;
}

const HEAD = /^export (?:declare )?(interface|class|type|function) (\w+)(.*)$/;
const MEMBER = /^ {4}(?:readonly |get )?(\[[\w.]+(?:: \w+)?\]|\w+)(\?)?[:(]/;

/** Of a `.d.ts` file, what it exports by itself, in order. */
export function declarationsOf(text: string): Declared[] {
	const found: Declared[] = [];
	let doc: string[] | undefined;
	let comment = '';
	let member: Member | undefined;
	let current: Declared | undefined;
	for (const line of text.split('\n')) {
		const trimmed = line.trim();
		if (doc !== undefined || trimmed.startsWith('/**')) {
			doc = [...(doc ?? []), trimmed.replace(/^\/?\*+\/? ?/, '').replace(/ ?\*\/$/, '')];
			if (trimmed.endsWith('*/')) {
				comment = doc.join('\n').trim();
				doc = undefined;
			}
			continue;
		}
		const [, kind, name, heritage] = HEAD.exec(line) ?? [];
		const [, inside, optional] = MEMBER.exec(line) ?? [];
		if (kind !== undefined && name !== undefined) {
			current = { kind, name, heritage: (heritage ?? '').replace(/ ?\{\}?$/, ''), doc: comment, members: [] };
			found.push(current);
			member = undefined;
		} else if (current !== undefined && inside !== undefined) {
			member = { name: inside, optional: optional !== undefined, text: trimmed, doc: comment };
			current.members.push(member);
		} else if (member !== undefined && /^ {4,}\S/.test(line)) {
			member.text += ` ${trimmed}`;
		} else if (current !== undefined && current.members.length === 0 && /^ {4}/.test(line)) {
			current.heritage += ` ${trimmed}`;
		}
		if (line === '}') member = undefined;
		comment = '';
	}
	return found;
}

/** The interfaces and classes among them. */
export function interfacesOf(declared: readonly Declared[]): Declared[] {
	return declared.filter(({ kind }) => kind === 'interface' || kind === 'class');
}

const FROM = /^export (?:type )?(?:\{([^}]*)\}|\*) from '([^']+)\.ts';$/gm;

/** Everything that the package exports, in the order of its index, wherever it is declared. From the built declarations. */
export function publicDeclarations(
	file: URL = new URL('../../dist/index.d.ts', import.meta.url),
	wanted?: ReadonlySet<string>,
): Declared[] {
	const text = readFileSync(file, 'utf8');
	const own = declarationsOf(text).filter(({ name }) => wanted?.has(name) ?? true);
	const others = [...text.matchAll(FROM)].flatMap(([, list, path]) => {
		const names = list?.split(',').map((name) => name.replace('type ', '').trim());
		const asked = names === undefined ? wanted : new Set(names.filter((name) => wanted?.has(name) ?? true));
		return asked?.size === 0 ? [] : publicDeclarations(new URL(`${path}.d.ts`, file), asked);
	});
	return [...own, ...others];
}
