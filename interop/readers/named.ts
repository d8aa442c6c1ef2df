/** Flow records whose values go by the registry's names: what ipfixDump and `conntrack-ipfix collect` print. */
import { keyOf } from '../support/kernel.ts';
import type { ReadRecord } from '../support/report.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Lines of `collect`. */
export function readJson(text: string): Fields[] {
	return text
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line) as Fields);
}

export function isFlow(fields: Fields): boolean {
	return fields['protocolIdentifier'] !== undefined;
}

/** `translated` is null where the record has no post-NAT element. */
export function flowOf(fields: Fields): ReadRecord {
	const number = (name: string) => Number(fields[name] ?? 0);
	const either = (name: string) =>
		String(fields[name.replace('IP', 'IPv4')] ?? shortened(String(fields[name.replace('IP', 'IPv6')] ?? '')));
	const translatedSource = either('postNATSourceIPAddress');
	return {
		key: keyOf(
			number('protocolIdentifier'),
			either('sourceIPAddress'),
			number('sourceTransportPort'),
			either('destinationIPAddress'),
			number('destinationTransportPort'),
		),
		packets: number('packetDeltaCount'),
		octets: number('octetDeltaCount'),
		reversePackets: number('reversePacketDeltaCount'),
		reverseOctets: number('reverseOctetDeltaCount'),
		totals: ['packetTotalCount', 'octetTotalCount', 'reversePacketTotalCount', 'reverseOctetTotalCount'].map(
			number,
		),
		translated:
			translatedSource === ''
				? null
				: {
						source: translatedSource,
						sourcePort: number('postNAPTSourceTransportPort'),
						destination: either('postNATDestinationIPAddress'),
						destinationPort: number('postNAPTDestinationTransportPort'),
					},
		start: String(fields['flowStartMilliseconds']),
		end: String(fields['flowEndMilliseconds']),
		icmp: number('icmpTypeCodeIPv4') + number('icmpTypeCodeIPv6'),
		zone: number('ingressVRFID'),
		mark: number('mark'),
		id: number('conntrackId'),
	};
}

/** ipfixDump writes the zeros of `2001:0db8::0001`. */
function shortened(address: string): string {
	return address === '' ? '' : new URL(`http://[${address}]`).hostname.slice(1, -1);
}
