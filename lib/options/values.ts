/** Checks of the values that only some options have: protocols, marks, networks, elements, addresses. */
import { isIP, isIPv4 } from 'node:net';
import type { MarkFilter, RuleLabelsInput } from '../types.ts';
import { judged, parsed, text } from './checks.ts';
import { FIELDS, type FieldName, KINDS } from './fields.ts';
import { didYouMean } from './nearest.ts';
import { parseEndpoint, parseTarget, TARGET_SYNTAX, type Target } from './target.ts';

const PROTOCOLS: Readonly<Record<string, number>> = {
	icmp: 1,
	tcp: 6,
	udp: 17,
	dccp: 33,
	gre: 47,
	icmpv6: 58,
	sctp: 132,
	udplite: 136,
};
const U32 = 0xffff_ffff;

/** Some of the bits of labels. */
interface LabelBits {
	first: number;
	count: number;
}

export interface RuleLabels {
	ingress: LabelBits;
	egress: LabelBits;
}

export const protocol = judged<number | string, number>((value) => {
	const number = typeof value === 'string' ? (PROTOCOLS[value.toLowerCase()] ?? wholeNumber(value)) : value;
	if (typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= 255) return number;
	const names = Object.keys(PROTOCOLS);
	const near = typeof value === 'string' ? didYouMean(value, names) : '';
	return { expected: `a protocol: ${names.join(', ')}, or a number from 0 to 255${near}` };
});

/** The bits of VALUE have to be among those of MASK: no mark could match otherwise. */
export const mark = judged<string | number | MarkFilter, MarkFilter>((given) => {
	const expected = `VALUE or VALUE/MASK, each a 32-bit number such as 0x10${misspeltPart(given)}`;
	const parts = partsOfMark(given);
	if (parts === undefined) return { expected };
	const [value, mask = U32] = parts;
	if (!isU32(value) || !isU32(mask)) return { expected };
	if ((value & ~mask) !== 0) {
		const outside = hex((value & ~mask) >>> 0);
		return {
			expected: `a VALUE within its MASK: no mark ever matches, because ${outside} of ${hex(value)} is outside of ${hex(mask)}`,
		};
	}
	return { value, mask };
});

const MARK_PARTS = ['value', 'mask'];

function misspeltPart(given: unknown): string {
	if (typeof given !== 'object' || given === null) return '';
	const wrong = Object.keys(given).find((name) => !MARK_PARTS.includes(name));
	return wrong === undefined ? '' : didYouMean(wrong, MARK_PARTS);
}

function partsOfMark(given: unknown): unknown[] | undefined {
	if (typeof given === 'number') return [given];
	if (typeof given === 'string') {
		const parts = given.split('/').map(wholeNumber);
		return parts.length <= 2 && !parts.includes(undefined) ? parts : undefined;
	}
	if (typeof given !== 'object' || given === null) return undefined;
	const { value, mask, ...others } = given as Record<string, unknown>;
	return Object.keys(others).length === 0 && mask !== undefined ? [value, mask] : undefined;
}

/** `FIRST-LAST` for each direction: which of the 128 bits, at most 32. */
export const ruleLabels = judged<RuleLabelsInput, RuleLabels>((given) => {
	const { ingress, egress, ...others } = (
		typeof given === 'object' && given !== null ? given : {}
	) as Partial<RuleLabelsInput>;
	const bits = [bitsOf(ingress), bitsOf(egress)];
	const [first, second] = bits;
	if (first === undefined || second === undefined || Object.keys(others).length > 0)
		return {
			expected:
				"an object with ingress and egress, such as '0-31' and '32-63': at most 32 of the bits 0 to 127",
		};
	return { ingress: first, egress: second };
});

function bitsOf(text: unknown): LabelBits | undefined {
	const [, first, last] = (typeof text === 'string' && /^(\d{1,3})-(\d{1,3})$/.exec(text)) || [];
	if (first === undefined || last === undefined) return undefined;
	const count = Number(last) - Number(first) + 1;
	return Number(last) <= 127 && count >= 1 && count <= 32 ? { first: Number(first), count } : undefined;
}

export function formatLabels({ ingress, egress }: RuleLabels): RuleLabelsInput {
	const text = ({ first, count }: LabelBits) => `${first}-${first + count - 1}`;
	return { ingress: text(ingress), egress: text(egress) };
}

export function formatMark({ value, mask }: MarkFilter): string {
	return `${hex(value)}/${hex(mask)}`;
}

export const cidr = parsed<string, string>(
	'an address or a network such as 10.0.0.0/8 or fd00::/8',
	(value) => {
		if (typeof value !== 'string') return undefined;
		const [address = '', length, ...others] = value.split('/');
		if (isIP(address) === 0 || address.includes('%') || others.length > 0) return undefined;
		const most = isIPv4(address) ? 32 : 128;
		const bits = length === undefined ? most : wholeNumber(length);
		return bits !== undefined && bits <= most ? `${address}/${bits}` : undefined;
	},
);

export const url = parsed<string, Target>(TARGET_SYNTAX, (value) =>
	typeof value === 'string' ? parseTarget(value) : undefined,
);

export const endpoint = parsed<string, { host: string; port: number }>('HOST:PORT', (value) =>
	typeof value === 'string' ? parseEndpoint(value) : undefined,
);

const NETNS = 'a path, a name or a process id';
const netnsText = text(NETNS);
export const netns = parsed<string | number, string>(NETNS, (value) => {
	if (typeof value === 'number') return Number.isSafeInteger(value) && value > 0 ? String(value) : undefined;
	return netnsText.safeParse(value).data;
});

/** Names of elements, in order, for records that are never empty. */
export const field = judged<FieldName, FieldName>((value) => {
	if (typeof value === 'string' && Object.hasOwn(FIELDS, value)) return value;
	const near = typeof value === 'string' ? didYouMean(value, Object.keys(FIELDS)) : '';
	return { expected: `the name of an element that docs/elements.md lists${near}` };
});

/** Of a list of right names: what else has to hold, or undefined. Its place is that of the first name that is too much. */
export function wrongFields(fields: readonly FieldName[]): { place?: number; expected: string } | undefined {
	const repeated = fields.findIndex((name, place) => fields.indexOf(name) !== place);
	if (repeated >= 0) return { place: repeated, expected: 'each name once' };
	const covered = fields.reduce((bits, name) => bits | FIELDS[name], 0);
	const missing = KINDS.findIndex((_, place) => (covered & (1 << place)) === 0);
	if (missing < 0) return undefined;
	const kind = KINDS[missing] ?? '';
	const example = kind.startsWith('IPv4') ? 'sourceIPv4Address' : 'sourceIPv6Address';
	return {
		expected: `at least one element for every kind of connection: those of ${kind} have none of these; add ${example}, for example`,
	};
}

function wholeNumber(value: string): number | undefined {
	return /^(\d+|0x[\da-f]+)$/i.test(value) ? Number(value) : undefined;
}

function isU32(value: unknown): value is number {
	return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= U32;
}

function hex(value: number): string {
	return `0x${value.toString(16)}`;
}
