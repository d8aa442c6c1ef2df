import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { type Fields, readJson } from './readers/named.ts';
import type { Counts } from './support/kernel.ts';
import { conntrackIpfix, PATH } from './support/program.ts';
import { type ReadRecord, type Report, scenario, sumByKey } from './support/report.ts';

interface PeerReport extends Report {
	theirs: ReadRecord[];
	/** By the peer's sequence numbers. */
	missing: number;
}

function asRead(records: readonly ReadRecord[], withTimes: boolean): string[] {
	return records
		.map(({ key, packets, octets, reversePackets, reverseOctets, icmp, start, end }) =>
			[key, packets, octets, reversePackets, reverseOctets, ...(withTimes ? [icmp, start, end] : [])].join(
				' ',
			),
		)
		.sort();
}

/** Connections as the kernel counted them, of whose directions the exporter makes flows of their own, or one. */
function hasTheKernelsCounts(
	t: ExecutionContext,
	{ kernel, records }: PeerReport,
	bidirectional: boolean,
): void {
	const sums = sumByKey(records);
	t.is(
		kernel.length,
		14,
		'connections with ports and without translation, two of TCP and five of UDP a family',
	);
	for (const connection of kernel) {
		const { key, packets, octets, reversePackets, reverseOctets, ...ends } = connection;
		const reverse = `${ends.protocol} ${ends.destination}:${ends.destinationPort} > ${ends.source}:${ends.sourcePort}`;
		const forwardCounts: Counts = { packets, octets, reversePackets, reverseOctets };
		if (bidirectional) {
			// Which end is the source is the exporter's guess.
			const turned = sums.get(reverse);
			const read =
				turned === undefined
					? sums.get(key)
					: {
							packets: turned.reversePackets,
							octets: turned.reverseOctets,
							reversePackets: turned.packets,
							reverseOctets: turned.octets,
						};
			t.deepEqual(read, forwardCounts, key);
		} else {
			const none = { packets: 0, octets: 0 };
			const there = sums.get(key) ?? none;
			const back = sums.get(reverse) ?? none;
			t.deepEqual(
				{
					packets: there.packets,
					octets: there.octets,
					reversePackets: back.packets,
					reverseOctets: back.octets,
				},
				forwardCounts,
				key,
			);
		}
	}
}

for (const [peer, reader, bidirectional] of [
	['softflowd-udp', 'tshark', false],
	['softflowd-tcp', 'tshark', true],
	['nfprobe', 'nfacctd', false],
] as const) {
	const report = scenario<PeerReport>('peers', peer);

	test(`collect reads ${peer} as ${reader} does`, async (t) => {
		const { records, theirs, missing, complaints } = await report;
		t.true(records.length >= 28);
		// nfacctd puts ICMP's type into a port, or not, and prints no times.
		const withTimes = reader === 'tshark';
		const compared = (all: ReadRecord[]) =>
			withTimes ? all : all.filter(({ key }) => key.startsWith('6 ') || key.startsWith('17 '));
		t.deepEqual(asRead(compared(records), withTimes), asRead(compared(theirs), withTimes));
		t.deepEqual(
			complaints.filter((line) => !/^(?:a record is|\d+ records are) missing; /.test(line)),
			missing === 0 ? [] : [`in all: ${missing} records missing`],
		);
	});

	test(`collect reads from ${peer} what the kernel counted`, async (t) => {
		hasTheKernelsCounts(t, await report, bidirectional);
	});
}

test('collect reads a file of python3-ipfix as ipfix2csv does', async (t) => {
	const folder = mkdtempSync(join(tmpdir(), 'conntrack-ipfix-python-'));
	t.teardown(() => rmSync(folder, { recursive: true, force: true }));
	const file = join(folder, 'python.ipfix');
	const writer = fileURLToPath(new URL('python/write_file.py', import.meta.url));
	const run = async (command: string, ...args: string[]) =>
		(await promisify(execFile)(command, args, { env: { PATH, LC_ALL: 'C.UTF-8' }, timeout: 60_000 })).stdout;
	await run('python3', writer, file);
	const ours = readJson((await conntrackIpfix('collect', '--read', file).succeeded()).stdout);
	t.is(ours.length, 25);

	const columns = {
		v4: [
			...['flowStartMilliseconds', 'sourceIPv4Address', 'destinationIPv4Address', 'sourceTransportPort'],
			...['destinationTransportPort', 'protocolIdentifier', 'octetDeltaCount', 'reverseOctetDeltaCount'],
			...['packetDeltaCount', 'interfaceName'],
		],
		v6: ['sourceIPv6Address', 'destinationIPv6Address', 'icmpTypeCodeIPv6', 'octetDeltaCount', 'userName'],
	};
	const text = (fields: Fields, name: string) =>
		String(fields[name]).replace(/^(\d{4}-\d\d-\d\d)T(.*)Z$/, '$1 $2');
	for (const names of Object.values(columns)) {
		const theirs = (await run('ipfix2csv', '--file', file, ...names))
			.trim()
			.split('\n')
			.slice(1)
			.map((line) => JSON.parse(`[${line}]`) as string[]);
		const read = ours
			.filter((fields) => names.every((name) => fields[name] !== undefined))
			.map((fields) => names.map((name) => text(fields, name)));
		t.deepEqual(read, theirs);
	}
	t.deepEqual(
		ours.flatMap((fields) => fields['sourceMacAddress'] ?? []),
		Array.from({ length: 20 }, (_, index) => `02:00:00:00:00:${index.toString(16).padStart(2, '0')}`),
	);
	t.deepEqual([...new Set(ours.map((fields) => (fields['message'] as Fields)['observationDomainId']))], [77]);
});
