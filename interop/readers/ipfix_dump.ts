/** Flow records out of what libfixbuf's ipfixDump prints: blocks of `(NUMBER) name : value`. */

export type Fields = Readonly<Record<string, string>>;

/** Every data record's values by the registry's names; options records too. */
export function readBlocks(text: string): Fields[] {
	return text
		.split(/^--- (?:options )?data record \d+ ---$/m)
		.slice(1)
		.map((block) =>
			Object.fromEntries(
				[...block.matchAll(/^\t\(\d+(?:\/\d+)?\)(?: \(S\))?\s+(\S+) : (?:\(len: \d+\) )?(.*)$/gm)].map(
					([, name, value]) => [name, value],
				),
			),
		);
}
