/** Addresses of a name, asked anew at every attempt. */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';

export interface Address {
	readonly address: string;
	readonly family: 4 | 6;
}

/** At most this many addresses of one name are tried in one attempt. */
const MOST_ADDRESSES = 16;

/**
 * All addresses in the resolver's order, families alternating, so that one family's broken route does not use up
 * the attempt. Rejects after `timeout` milliseconds, for the resolver itself may wait for minutes, and when `signal`
 * aborts.
 */
export async function resolve(host: string, timeout: number, signal: AbortSignal): Promise<Address[]> {
	const family = isIP(host);
	if (family !== 0) return [{ address: host, family: family === 4 ? 4 : 6 }];
	if (signal.aborted) throw new Error('given up');
	let timer: NodeJS.Timeout | undefined;
	let abort: () => void = () => undefined;
	try {
		const found = await Promise.race([
			lookup(host, { all: true, verbatim: true }),
			new Promise<never>((_, reject) => {
				abort = () => reject(new Error('given up'));
				signal.addEventListener('abort', abort);
				timer = setTimeout(
					() => reject(new Error(`no answer to the name ${host} within ${timeout} ms`)),
					timeout,
				);
			}),
		]);
		return alternate(found.map(({ address, family }) => ({ address, family: family === 4 ? 4 : 6 }))).slice(
			0,
			MOST_ADDRESSES,
		);
	} finally {
		clearTimeout(timer);
		signal.removeEventListener('abort', abort);
	}
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
