/** Durations as people write them: `500ms`, `5s`, `10m`, `1h`. Inside the program they are milliseconds. */

export const DURATION_SYNTAX =
	'a duration above zero with a unit, at most 24 days, such as 500ms, 5s, 10m or 1h';

/** Longest delay a timer of Node takes; a longer one would fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

const MILLISECONDS: Readonly<Record<string, number>> = {
	ms: 1,
	s: 1000,
	m: 60_000,
	h: 3_600_000,
	d: 86_400_000,
};

/** Milliseconds, or undefined when `text` is not a positive duration with a unit of at most 24 days. */
export function parseDuration(text: string): number | undefined {
	const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim());
	if (match === null) return undefined;
	return checkMilliseconds(Number(match[1]) * (MILLISECONDS[match[2] ?? ''] ?? Number.NaN));
}

/** The same bounds for a number of milliseconds. */
export function checkMilliseconds(milliseconds: number): number | undefined {
	const whole = Math.round(milliseconds);
	return Number.isFinite(milliseconds) && whole >= 1 && whole <= LONGEST_MS ? whole : undefined;
}

/** The shortest text that parses back to the same value. */
export function formatDuration(milliseconds: number): string {
	for (const unit of ['h', 'm', 's'] as const) {
		const size = MILLISECONDS[unit] ?? 1;
		if (milliseconds >= size && milliseconds % size === 0) return `${milliseconds / size}${unit}`;
	}
	return `${milliseconds}ms`;
}
