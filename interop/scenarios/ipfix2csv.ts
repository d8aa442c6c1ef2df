/** A file of the exporter in python3-ipfix's ipfix2csv, which prints the records that have all columns asked for. */
import { join } from 'node:path';
import { exportTraffic } from '../support/agent.ts';
import { keyOf } from '../support/kernel.ts';
import { output } from '../support/program.ts';
import { finish, type ReadRecord, temporaryFolder } from '../support/report.ts';
import { prepare } from '../support/traffic.ts';

const COUNTERS = ['packetDeltaCount', 'octetDeltaCount', 'reversePacketDeltaCount', 'reverseOctetDeltaCount'];
const PORTS = ['sourceTransportPort', 'destinationTransportPort'];

prepare();
const file = join(temporaryFolder(), 'flows.ipfix');
const exported = await exportTraffic('--collector', `file:${file}`);
const records: ReadRecord[] = [];
for (const [family, icmp] of [
	['IPv4', 'icmpTypeCodeIPv4'],
	['IPv6', 'icmpTypeCodeIPv6'],
] as const) {
	const addresses = [`source${family}Address`, `destination${family}Address`];
	for (const ends of [PORTS, [icmp]]) {
		const text = await output(
			'ipfix2csv',
			...['--file', file, 'protocolIdentifier', ...addresses, ...COUNTERS, ...ends],
		);
		for (const line of text.trim().split('\n').slice(1)) {
			const [protocol = '', source = '', destination = '', ...numbers] = JSON.parse(`[${line}]`) as string[];
			const [packets = 0, octets = 0, reversePackets = 0, reverseOctets = 0, first = 0, second = 0] =
				numbers.map(Number);
			const [sourcePort, destinationPort] = ends === PORTS ? [first, second] : [0, 0];
			records.push({
				key: keyOf(protocol, source, sourcePort, destination, destinationPort),
				packets,
				octets,
				reversePackets,
				reverseOctets,
				...(ends !== PORTS && { icmp: first }),
			});
		}
	}
}
finish({ ...exported, records });
