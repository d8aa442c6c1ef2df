/** The lines of interop/go-ipfix, and its records in the terms of the kernel. */
import { type Connection, keyOf } from '../support/kernel.ts';
import type { ReadRecord } from '../support/report.ts';

export interface GoMessage {
	octets: number;
	sequence: number;
	domain: number;
	template: number;
}

export interface GoField {
	name: string;
	enterprise: number;
	number: number;
	length: number;
}

export type GoElements = Readonly<Record<string, string | number>>;

export interface GoReading {
	templates: Array<{ message: GoMessage; fields: GoField[] }>;
	records: Array<{ message: GoMessage; elements: GoElements }>;
	/** What it says of all when it ends. */
	end: { messages: number; records: number } | undefined;
}

export function readLines(text: string): GoReading {
	const reading: GoReading = { templates: [], records: [], end: undefined };
	for (const line of text.split('\n').filter((found) => found !== '')) {
		const { template, record, end } = JSON.parse(line) as {
			template?: GoReading['templates'][number];
			record?: GoReading['records'][number];
			end?: GoReading['end'];
		};
		if (template !== undefined) reading.templates.push(template);
		if (record !== undefined) reading.records.push(record);
		if (end !== undefined) reading.end = end;
	}
	return reading;
}

/** Antrea's destination is the endpoint that answers; ICMP has ports of 0, so that several connections can have one key. */
export function antreaKeyOf(connection: Connection): string {
	const { protocol, source, sourcePort, destination, destinationPort, translated } = connection;
	const endpoint = translated?.destination ?? destination;
	return keyOf(protocol, source, sourcePort, endpoint, translated?.destinationPort ?? destinationPort);
}

export function flowOf(elements: GoElements): ReadRecord {
	const number = (name: string) => Number(elements[name]);
	const family = elements['sourceIPv4Address'] === undefined ? 'IPv6' : 'IPv4';
	const address = (name: string) => String(elements[`${name}${family}Address`]);
	return {
		key: keyOf(
			number('protocolIdentifier'),
			address('source'),
			number('sourceTransportPort'),
			address('destination'),
			number('destinationTransportPort'),
		),
		packets: number('packetDeltaCount'),
		octets: number('octetDeltaCount'),
		reversePackets: number('reversePacketDeltaCount'),
		reverseOctets: number('reverseOctetDeltaCount'),
		totals: ['packetTotalCount', 'octetTotalCount', 'reversePacketTotalCount', 'reverseOctetTotalCount'].map(
			number,
		),
	};
}
