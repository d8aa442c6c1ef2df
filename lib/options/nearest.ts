/** The name that somebody who wrote a wrong one has probably meant. */

/** Longer ones are no slip of the finger; the bound also bounds the work. */
const LONGEST = 64;

/** `; did you mean pollInterval?`, or nothing where no name is near. */
export function didYouMean(wrong: string, names: Iterable<string>): string {
	const near = nearest(wrong, names);
	return near === undefined ? '' : `; did you mean ${near}?`;
}

/**
 * The name that fewest edits (a letter left out, added, changed, or two swapped; case and dashes do not count) make of
 * `wrong`, the first of several; undefined when more than a third of its letters would have to change. A name that `wrong` begins
 * with, or that begins with it, is near, too.
 */
export function nearest(wrong: string, names: Iterable<string>): string | undefined {
	if (wrong.length > LONGEST) return undefined;
	const plainWrong = plain(wrong);
	if (plainWrong === '') return undefined;
	const most = Math.max(1, Math.floor(plainWrong.length / 3));
	let best: string | undefined;
	let fewest = most + 1;
	for (const name of names) {
		const plainName = plain(name);
		const distance = edits(plainWrong, plainName);
		const begins =
			Math.min(plainWrong.length, plainName.length) >= 3 &&
			(plainName.startsWith(plainWrong) || plainWrong.startsWith(plainName));
		const score = begins ? Math.min(distance, most) : distance;
		if (score < fewest) [best, fewest] = [name, score];
	}
	return best;
}

function plain(name: string): string {
	return name.toLowerCase().replaceAll(/[-_]/g, '');
}

/** Optimal string alignment distance. */
function edits(left: string, right: string): number {
	let twoBack: number[] = [];
	let back = Array.from({ length: right.length + 1 }, (_, index) => index);
	for (let i = 1; i <= left.length; i += 1) {
		const row = [i];
		for (let j = 1; j <= right.length; j += 1) {
			const changed = (back[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
			let least = Math.min(changed, (back[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
			if (i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1])
				least = Math.min(least, (twoBack[j - 2] ?? 0) + 1);
			row.push(least);
		}
		[twoBack, back] = [back, row];
	}
	return back[right.length] ?? 0;
}
