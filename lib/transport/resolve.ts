/**
 * Addresses of a name, asked anew at every attempt: of the system's resolver, so that hosts, nsswitch.conf and search
 * domains mean what they mean to every other program.
 *
 * A name server that does not answer keeps the resolver busy for a minute, and nothing can call it off. So each name is
 * asked for on a thread of its own, which nobody has to wait for, and at most one such question of a name is open: who
 * asks again meanwhile gets its answer.
 */
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { type NativeLookup, native } from '../core/native.ts';

export interface Address {
	readonly address: string;
	readonly family: 4 | 6;
}

/** At most this many addresses of one name are tried in one attempt. */
const MOST_ADDRESSES = 16;

const pending = new Map<string, Promise<Address[]>>();

/**
 * All addresses in the resolver's order, families alternating, so that one family's broken route does not use up
 * the attempt. Rejects after `timeout` milliseconds and when `signal` aborts.
 */
export async function resolve(host: string, timeout: number, signal: AbortSignal): Promise<Address[]> {
	if (isIP(host) !== 0) return [addressOf(host)];
	if (signal.aborted) throw new Error('given up');
	let timer: NodeJS.Timeout | undefined;
	let abort: () => void = () => undefined;
	try {
		return await Promise.race([
			lookUp(host),
			new Promise<never>((_, reject) => {
				abort = () => reject(new Error('given up'));
				signal.addEventListener('abort', abort);
				timer = setTimeout(
					() => reject(new Error(`no answer to the name ${host} within ${timeout} ms`)),
					timeout,
				);
			}),
		]);
	} finally {
		clearTimeout(timer);
		signal.removeEventListener('abort', abort);
	}
}

function lookUp(host: string): Promise<Address[]> {
	const asked = pending.get(host) ?? ask(host).finally(() => pending.delete(host));
	pending.set(host, asked);
	// Whoever asked may have given up.
	asked.catch(() => undefined);
	return asked;
}

function ask(host: string): Promise<Address[]> {
	return new Promise((resolve, reject) => {
		const lookup: NativeLookup = new (native().NativeLookup)(host, () => {
			const outcome = lookup.read();
			if (outcome === null) return;
			const { addresses, error } = outcome;
			if (error === undefined) resolve(alternate(addresses.map(addressOf)).slice(0, MOST_ADDRESSES));
			else reject(new Error(`no address for the name ${host}: ${error}`));
		});
	});
}

/** The resolver gives the index of an address's scope, Node takes the name of the interface. */
function addressOf(text: string): Address {
	const [address = '', scope] = text.split('%', 2);
	if (scope === undefined) return { address, family: isIP(address) === 4 ? 4 : 6 };
	const [name = scope] =
		Object.entries(networkInterfaces()).find(([, entries]) =>
			entries?.some((entry) => entry.family === 'IPv6' && String(entry.scopeid) === scope),
		) ?? [];
	return { address: `${address}%${name}`, family: 6 };
}

export function alternate(addresses: readonly Address[]): Address[] {
	const first = addresses.filter((entry) => entry.family === addresses[0]?.family);
	const second = addresses.filter((entry) => entry.family !== addresses[0]?.family);
	const mixed: Address[] = [];
	for (let index = 0; index < Math.max(first.length, second.length); index += 1) {
		for (const entry of [first[index], second[index]]) if (entry !== undefined) mixed.push(entry);
	}
	return mixed;
}
