/** Decoded records, summed up by connection, and raw IPFIX messages by hand. */
import type { Elements, FlowRecord } from '../../lib/index.ts';

const PROTOCOLS: Record<number, string> = { 6: 'tcp', 17: 'udp' };

export interface FlowSum {
	key: string;
	records: number;
	/** flowEndReason of each record, in order. */
	reasons: number[];
	packets: number;
	octets: number;
	reversePackets: number;
	reverseOctets: number;
	/** Totals of the last record. */
	totals: number[];
}

export function keyOf(record: Elements): string {
	const source = record['sourceIPv4Address'] ?? record['sourceIPv6Address'];
	const destination = record['destinationIPv4Address'] ?? record['destinationIPv6Address'];
	const protocol = PROTOCOLS[Number(record['protocolIdentifier'])] ?? record['protocolIdentifier'];
	return `${protocol} ${source}:${record.sourceTransportPort} > ${destination}:${record.destinationTransportPort}`;
}

/** Deltas of all records of a connection together. */
export function sumByFlow(records: readonly FlowRecord[]): Map<string, FlowSum> {
	const sums = new Map<string, FlowSum>();
	for (const record of records) {
		const key = keyOf(record);
		const sum = sums.get(key) ?? {
			key,
			records: 0,
			reasons: [],
			packets: 0,
			octets: 0,
			reversePackets: 0,
			reverseOctets: 0,
			totals: [],
		};
		sums.set(key, sum);
		const number = (name: string) => Number(record[name]);
		sum.records += 1;
		sum.reasons.push(number('flowEndReason'));
		sum.packets += number('packetDeltaCount');
		sum.octets += number('octetDeltaCount');
		sum.reversePackets += number('reversePacketDeltaCount');
		sum.reverseOctets += number('reverseOctetDeltaCount');
		sum.totals = [
			'packetTotalCount',
			'octetTotalCount',
			'reversePacketTotalCount',
			'reverseOctetTotalCount',
		].map(number);
	}
	return sums;
}

/** An IPFIX message (RFC 7011 section 3.1) around `sets`. */
export function message(
	sets: Buffer,
	{ sequence = 0, exportTime = 0x6000_0000, domain = 1, version = 10 } = {},
): Buffer {
	const header = Buffer.alloc(16);
	header.writeUInt16BE(version, 0);
	header.writeUInt16BE(16 + sets.length, 2);
	header.writeUInt32BE(exportTime, 4);
	header.writeUInt32BE(sequence, 8);
	header.writeUInt32BE(domain, 12);
	return Buffer.concat([header, sets]);
}

/**
 * Template 256: sourceIPv4Address (8), destinationTransportPort (11), octetDeltaCount (1) in 4 octets; and one
 * record of it: 192.0.2.7, 443, 1500.
 */
export const TEMPLATE_SET = Buffer.from(
	'00020014' + '01000003' + '00080004' + '000b0002' + '00010004',
	'hex',
);
export const DATA_SET = Buffer.from('0100000e' + 'c0000207' + '01bb' + '000005dc', 'hex');

/** Template 256 of an element and a length each, as a template set. */
export function templateSet(
	fields: ReadonlyArray<readonly [element: number, length: number]>,
	id = 256,
): Buffer {
	const set = Buffer.alloc(8 + 4 * fields.length);
	set.writeUInt16BE(2, 0);
	set.writeUInt16BE(set.length, 2);
	set.writeUInt16BE(id, 4);
	set.writeUInt16BE(fields.length, 6);
	for (const [index, [element, length]] of fields.entries()) {
		set.writeUInt16BE(element, 8 + 4 * index);
		set.writeUInt16BE(length, 10 + 4 * index);
	}
	return set;
}
