import test from 'ava';
import type { LossSummary, SessionStats } from '../lib/index.ts';
import type { KernelFlow } from './support/kernel.ts';
import { inNamespace } from './support/namespace.ts';
import type { FlowSum } from './support/records.ts';

interface Report {
	first: KernelFlow[];
	second: KernelFlow[];
	during: string[];
	after: string[];
	collectors: SessionStats[];
	losses: LossSummary[];
	malformed: number;
	overUdp: FlowSum[];
	inFile: FlowSum[];
}

const result = inNamespace<Report>('udp_and_file');

test('a file has every flow, as the kernel counted it, and its name only when it is complete', async (t) => {
	const { first, second, during, after, inFile } = await result;
	t.deepEqual([first.length, second.length], [200, 1_000]);
	t.deepEqual([during, after], [['flows.ipfix.part'], ['flows.ipfix']]);
	t.is(inFile.length, 1_200);
	const octets = new Map(inFile.map((sum) => [sum.key, sum.octets]));
	t.deepEqual(
		[...first, ...second].filter((flow) => octets.get(flow.key) !== flow.octets),
		[],
	);
	t.true(inFile.every(({ records }) => records === 1));
});

test('a UDP collector that comes late decodes at once, and what it missed is counted', async (t) => {
	const { first, second, overUdp, collectors, losses, malformed } = await result;
	t.is(malformed, 0, 'templates came before the data');
	const octets = new Map(overUdp.map((sum) => [sum.key, sum.octets]));
	t.deepEqual(
		second.filter((flow) => octets.get(flow.key) !== flow.octets),
		[],
	);
	t.is(overUdp.length, 1_000);
	const [udp] = collectors;
	t.is(udp?.exportedRecords, 1_000);
	const missed = losses.filter(({ collector }) => collector === udp?.name);
	t.is(
		missed.reduce((sum, { records }) => sum + records, 0),
		first.length,
	);
	t.is(
		missed.reduce((sum, { packets }) => sum + packets, 0),
		first.reduce((sum, flow) => sum + flow.packets, 0),
	);
	t.true(
		losses.every(({ collector }) => collector === udp?.name),
		'nothing was lost for everybody',
	);
});

test('over UDP the templates come twice at the start, and the options records’ sequence number counts on', async (t) => {
	const datagrams = (await inNamespace<string[]>('udp_sequence')).map((hex) => Buffer.from(hex, 'hex'));
	const heads = datagrams.map((datagram) => ({
		domain: datagram.readUInt32BE(12),
		sequence: datagram.readUInt32BE(8),
		firstSet: datagram.readUInt16BE(16),
	}));
	// Five options records each time: losses, counts, and the types of mark, conntrackId and logPrefix.
	t.deepEqual(heads, [
		{ domain: 0, sequence: 0, firstSet: 3 },
		{ domain: 1, sequence: 0, firstSet: 2 },
		{ domain: 0, sequence: 5, firstSet: 3 },
		{ domain: 1, sequence: 0, firstSet: 2 },
	]);
});
