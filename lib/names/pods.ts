/**
 * The Pods that connections' ends are named by: how a list of them is checked, and whether records have room for names.
 *
 * A list enters through `podsSchema`, as the option `pods` or by `setPods`, and leaves as `Pod[]` for the core.
 */
import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import { didYouMean } from '../options/nearest.ts';
import type { PodInput } from '../types.ts';

/** A Pod that was checked. */
export interface Pod {
	name: string;
	namespace: string;
	/** Empty: not known. */
	node: string;
	/** As the kernel writes them. */
	addresses: string[];
}

/** As many addresses, and octets of a text, as the core takes. */
const MAX_ADDRESSES = 1_000_000;
const MAX_TEXT = 253;
const KEYS: ReadonlySet<string> = new Set(['name', 'namespace', 'node', 'addresses']);

/** Half of a surrogate pair without the other one, which has no octets. */
const HALF_A_CHARACTER = /\p{Surrogate}/u;

/** Of a list, in one go: ten thousand Pods come at once, and again with each change. */
export const podsSchema = z.custom<readonly PodInput[]>().transform((list, context): Pod[] => {
	try {
		return checkedPods(list);
	} catch (error) {
		if (!(error instanceof Wrong)) throw error;
		const { path, input, message } = error;
		context.addIssue({ code: 'custom', path, input, message });
		return z.NEVER;
	}
});

/** What is wrong with a list; the message says what was expected. */
class Wrong extends Error {
	readonly path: Array<string | number>;
	readonly input: unknown;

	constructor(path: Array<string | number>, input: unknown, expected: string) {
		super(expected);
		this.path = path;
		this.input = input;
	}
}

function checkedPods(list: unknown): Pod[] {
	if (!Array.isArray(list)) throw new Wrong([], list, 'a list of Pods');
	/** The Pod, by its place, that has an address. */
	const owners = new Map<string, number>();
	const pods: Pod[] = [];
	let count = 0;
	for (const [place, raw] of list.entries()) {
		const pod = checkedPod(raw, place);
		count += pod.addresses.length;
		if (count > MAX_ADDRESSES) {
			const expected = `at most ${MAX_ADDRESSES} addresses: give only the Pods that this node's connections meet`;
			throw new Wrong([], `more than ${MAX_ADDRESSES} addresses`, expected);
		}
		const addresses: string[] = [];
		for (const [at, value] of pod.addresses.entries()) {
			const address = typeof value === 'string' ? plainAddress(value) : undefined;
			if (address === undefined) throw new Wrong([place, 'addresses', at], value, 'an IPv4 or IPv6 address');
			const owner = owners.get(address);
			if (owner !== undefined && owner !== place) {
				const expected = `an address that no other Pod has: it is that of pods[${owner}] too; ${APART}`;
				throw new Wrong([place, 'addresses', at], address, expected);
			}
			owners.set(address, place);
			addresses.push(address);
		}
		const { name, namespace, node } = pod;
		pods.push({ name, namespace, node, addresses });
	}
	return pods;
}

const APART = "leave out Pods on the host's network and those that have ended";

/** All but the addresses. */
function checkedPod(raw: unknown, place: number): Omit<Pod, 'addresses'> & { addresses: unknown[] } {
	if (typeof raw !== 'object' || raw === null || Array.isArray(raw))
		throw new Wrong([place], raw, 'an object with name, namespace and addresses');
	const pod = raw as Partial<Record<keyof Pod, unknown>>;
	for (const key in pod)
		if (!KEYS.has(key)) {
			const expected = `no option of this name${didYouMean(key, KEYS)}`;
			throw new Wrong([place, key], pod[key as keyof Pod], expected);
		}
	const { name, namespace, node = '', addresses } = pod;
	if (!isText(name) || name === '') throw wrongText(place, 'name', name, "the Pod's name");
	if (!isText(namespace))
		throw wrongText(place, 'namespace', namespace, "the Pod's namespace, which may be empty");
	if (!isText(node)) throw wrongText(place, 'node', node, "a node's name");
	if (!Array.isArray(addresses)) throw new Wrong([place, 'addresses'], addresses, 'a list of addresses');
	return { name, namespace, node, addresses };
}

function isText(value: unknown): value is string {
	if (typeof value !== 'string' || HALF_A_CHARACTER.test(value)) return false;
	// No character has more than three octets for each unit of its text.
	return value.length * 3 <= MAX_TEXT || Buffer.byteLength(value) <= MAX_TEXT;
}

function wrongText(place: number, key: string, value: unknown, expected: string): Wrong {
	if (typeof value !== 'string' || value === '') return new Wrong([place, key], value, expected);
	const half = HALF_A_CHARACTER.test(value);
	return new Wrong([place, key], value, half ? 'whole characters' : `at most ${MAX_TEXT} octets`);
}

const POD_ELEMENTS = ['source', 'destination'].flatMap((end) =>
	['PodName', 'PodNamespace', 'NodeName'].map((name) => end + name),
);

/** What is missing among `fields` that select no name of a Pod. */
export const EXPECTED_FIELDS = `one of ${POD_ELEMENTS.join(', ')} among them, because there are Pods to name`;

/**
 * Whether records have elements for Pods' names: always in the antrea profile; in the standard one when Pods were
 * configured, be it none, or when `fields` selects such an element.
 */
export function haveNames(settings: {
	profile: 'standard' | 'antrea';
	fields?: readonly string[] | undefined;
	pods?: readonly Pod[] | undefined;
}): boolean {
	const { profile, fields, pods } = settings;
	if (profile === 'antrea') return true;
	return fields === undefined ? pods !== undefined : fields.some((name) => POD_ELEMENTS.includes(name));
}

/**
 * What most IPv6 addresses look like and RFC 5952 leaves as it is: 2 to 6 groups in small letters, none of them zero or with
 * leading zeros, and :: between two.
 */
const PLAIN_IPV6 = /^(?=(?:[^:]*:){2,6}[^:]*$)(?:[1-9a-f][\da-f]{0,3}:)+(?::[1-9a-f][\da-f]{0,3})+$/;

/** One text for each address: IPv4 in IPv6 is IPv4, as it is to conntrack. A zone index is no part of an address here. */
function plainAddress(value: string): string | undefined {
	if (isIPv4(value) || PLAIN_IPV6.test(value)) return value;
	if (!isIPv6(value) || value.includes('%')) return undefined;
	// A URL's host is the quickest way to RFC 5952's text.
	const address = new URL(`http://[${value}]`).hostname.slice(1, -1);
	const [, high, low] = /^::ffff:([\da-f]+):([\da-f]+)$/.exec(address) ?? [];
	if (high === undefined || low === undefined) return address;
	const octets = [high, low].flatMap((half) => {
		const number = Number.parseInt(half, 16);
		return [number >> 8, number & 0xff];
	});
	return octets.join('.');
}
