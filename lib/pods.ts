/**
 * The Pods that connections' ends are named by: how a list of them is checked, and whether records have room for names.
 *
 * A list enters through `podsSchema`, as the option `pods` or by `setPods`, and leaves as `Pod[]` for the core.
 */
import { isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';

/** As many addresses, and octets of a text, as the core takes. */
const MAX_ADDRESSES = 1_000_000;
const MAX_TEXT = 253;

const text = (expected: string) =>
	z.string({ error: expected }).refine((value) => Buffer.byteLength(value) <= MAX_TEXT, {
		error: `at most ${MAX_TEXT} octets`,
	});

const address = z.string({ error: 'an IPv4 or IPv6 address' }).transform((value, context) => {
	const plain = plainAddress(value);
	if (plain !== undefined) return plain;
	context.addIssue({ code: 'custom', message: 'an IPv4 or IPv6 address', input: value });
	return z.NEVER;
});

const pod = z.strictObject(
	{
		name: text("the Pod's name").min(1, { error: "the Pod's name" }),
		/** Empty where Pods have none. */
		namespace: text("the Pod's namespace, which may be empty"),
		/** The node that it runs on. */
		node: text("a node's name").default(''),
		/** All of them, IPv4 and IPv6; none: the Pod has no address yet. */
		addresses: z.array(address, { error: 'a list of addresses' }),
	},
	{ error: 'an object with name, namespace and addresses' },
);

/** A Pod for `setPods` and the option `pods`. */
export type PodInput = z.input<typeof pod>;
/** A Pod that was checked; its addresses as the kernel writes them. */
export type Pod = z.output<typeof pod>;

export const podsSchema = z.array(pod, { error: 'a list of Pods' }).superRefine((pods, context) => {
	const owners = new Map<string, number>();
	let count = 0;
	for (const [index, { addresses }] of pods.entries()) {
		count += addresses.length;
		if (count > MAX_ADDRESSES) {
			const message = `at most ${MAX_ADDRESSES} addresses: give only the Pods that this node's connections meet`;
			context.addIssue({ code: 'custom', message, input: `more than ${MAX_ADDRESSES} addresses` });
			return;
		}
		for (const [place, value] of addresses.entries()) {
			const owner = owners.get(value);
			if (owner !== undefined && owner !== index) {
				const message =
					`an address that no other Pod has: it is that of pods[${owner}] too; leave out Pods on the host's network ` +
					'and those that have ended';
				context.addIssue({ code: 'custom', message, path: [index, 'addresses', place], input: value });
				return;
			}
			owners.set(value, index);
		}
	}
});

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

/** One text for each address: IPv4 in IPv6 is IPv4, as it is to conntrack. A zone index is no part of an address here. */
function plainAddress(value: string): string | undefined {
	if (isIPv4(value)) return value;
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
