/** What the kernel's own tool says of the connections, for the comparison with what a collector read. */
import { run } from '../../__test__/support/kernel.ts';

/** Packets and octets of one connection, or the sums of its records' deltas. */
export interface Counts {
	packets: number;
	octets: number;
	reversePackets: number;
	reverseOctets: number;
}

export interface Ends {
	source: string;
	sourcePort: number;
	destination: string;
	destinationPort: number;
}

export interface Connection extends Counts, Ends {
	/** See `keyOf`. */
	key: string;
	protocol: number;
	/** Source and destination as translation left them; null where it changed nothing. */
	translated: Ends | null;
	/** ICMP's type times 256 plus its code; 0 for other protocols. */
	icmp: number;
	zone: number;
	mark: number;
	id: number;
}

/** `17 192.0.2.1:4000 > 192.0.2.2:53`; ports are 0 where the protocol has none. */
export function keyOf(
	protocol: number | string,
	source: string,
	sourcePort: number | string,
	destination: string,
	destinationPort: number | string,
): string {
	return `${protocol} ${source}:${sourcePort} > ${destination}:${destinationPort}`;
}

/** What `conntrack -L` says now of both families. */
export function connections(): Connection[] {
	return ['ipv4', 'ipv6']
		.flatMap((family) => run('conntrack', '-L', '-f', family, '-o', 'extended,id').split('\n'))
		.filter((line) => line !== '')
		.map(parseConnection);
}

/**
 * `ipv4 2 udp 17 29 src=A dst=B sport=1 dport=2 packets=3 bytes=4 src=B dst=A … mark=0 zone=7 use=1 id=5`: the
 * first of each pair is the original direction, the second the reply.
 */
function parseConnection(line: string): Connection {
	const [, , , protocol = ''] = line.split(/\s+/);
	const texts = (name: string) =>
		[...line.matchAll(new RegExp(` ${name}=(\\S+)`, 'g'))].map((match) => match[1] ?? '');
	const numbers = (name: string) => texts(name).map(Number);
	const [source = '', replySource = ''] = texts('src');
	const [destination = '', replyDestination = ''] = texts('dst');
	const [sourcePort = 0, replySourcePort = 0] = numbers('sport');
	const [destinationPort = 0, replyDestinationPort = 0] = numbers('dport');
	const [packets = 0, reversePackets = 0] = numbers('packets');
	const [octets = 0, reverseOctets = 0] = numbers('bytes');
	const translated = {
		source: replyDestination,
		sourcePort: replyDestinationPort,
		destination: replySource,
		destinationPort: replySourcePort,
	};
	const isTranslated =
		source !== translated.source ||
		sourcePort !== translated.sourcePort ||
		destination !== translated.destination ||
		destinationPort !== translated.destinationPort;
	return {
		key: keyOf(protocol, source, sourcePort, destination, destinationPort),
		protocol: Number(protocol),
		source,
		sourcePort,
		destination,
		destinationPort,
		packets,
		octets,
		reversePackets,
		reverseOctets,
		translated: isTranslated ? translated : null,
		icmp: (numbers('type')[0] ?? 0) * 256 + (numbers('code')[0] ?? 0),
		zone: numbers('zone')[0] ?? 0,
		mark: numbers('mark')[0] ?? 0,
		// ICMP has an `id` in each tuple as well.
		id: numbers('id').at(-1) ?? 0,
	};
}
