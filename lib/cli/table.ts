/** Records as lines of text with the columns that people look for. */

const COLUMNS = [
	['PROTO', 8],
	['SOURCE', 46],
	['DESTINATION', 46],
	['PACKETS', 10],
	['BYTES', 12],
	['REPLY PKTS', 10],
	['REPLY BYTES', 12],
	['END', 0],
] as const;

const PROTOCOLS: Readonly<Record<number, string>> = {
	1: 'icmp',
	6: 'tcp',
	17: 'udp',
	47: 'gre',
	58: 'icmpv6',
	132: 'sctp',
};
/** RFC 5102 section 5.11.3. */
const END_REASONS: Readonly<Record<number, string>> = {
	1: 'idle',
	2: 'active',
	3: 'ended',
	4: 'forced',
	5: 'no room',
};

type Row = Readonly<Record<string, unknown>>;

export class Table {
	#headed = false;

	/** One line a record, so that lines can be counted by records; the heading is printed at once. */
	lines(records: readonly Row[]): string {
		const lines = records.map((record) => layOut(cells(record)));
		if (!this.#headed && lines.length > 0) {
			this.#headed = true;
			process.stdout.write(layOut(COLUMNS.map(([title]) => title)));
		}
		return lines.join('');
	}
}

function cells(record: Row): string[] {
	const number = (...names: string[]) =>
		String(names.map((name) => record[name]).find((value) => value !== undefined) ?? '');
	const end = (address: unknown, port: unknown) =>
		port === undefined
			? String(address ?? '')
			: `${String(address).includes(':') ? `[${address}]` : address}:${port}`;
	const protocol = record['protocolIdentifier'];
	const reason = record['flowEndReason'];
	return [
		typeof protocol === 'number' ? (PROTOCOLS[protocol] ?? String(protocol)) : '',
		end(record['sourceIPv4Address'] ?? record['sourceIPv6Address'], record['sourceTransportPort']),
		end(
			record['destinationIPv4Address'] ?? record['destinationIPv6Address'],
			record['destinationTransportPort'],
		),
		number('packetDeltaCount', 'packetTotalCount'),
		number('octetDeltaCount', 'octetTotalCount'),
		number('reversePacketDeltaCount', 'reversePacketTotalCount'),
		number('reverseOctetDeltaCount', 'reverseOctetTotalCount'),
		typeof reason === 'number' ? (END_REASONS[reason] ?? String(reason)) : '',
	];
}

function layOut(cells: readonly string[]): string {
	return `${cells
		.map((cell, index) => cell.padEnd(COLUMNS[index]?.[1] ?? 0))
		.join(' ')
		.trimEnd()}\n`;
}
