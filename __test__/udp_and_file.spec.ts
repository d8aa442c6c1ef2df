import test from 'ava';
import type { ExporterStats } from '../lib/index.ts';
import type { Account } from './support/account.ts';
import type { KernelFlow } from './support/kernel.ts';
import { inNamespace } from './support/namespace.ts';
import type { FlowSum } from './support/records.ts';

interface Report {
	first: KernelFlow[];
	second: KernelFlow[];
	during: string[];
	after: string[];
	collectors: ExporterStats['collectors'];
	losses: ExporterStats['losses'];
	malformed: number;
	/** Sends that met a full buffer. */
	full: number;
	beforeGoing: ExporterStats['collectors'][number];
	afterGoing: ExporterStats['collectors'][number];
	total: Account;
	overUdp: FlowSum[];
	inFile: Account;
	datagrams: Array<'templates' | 'data' | 'options'>;
	afterQuiet?: string;
	rotation: Array<{ name: string; octets: number; flows: number }>;
	rotatedFlows: number;
}

const result = inNamespace<Report>('udp_and_file');
const FLOWS = 200 + 1_000 + 300 + 100;

test('a file has every flow, as the kernel counted it, and its name only when it is complete', async (t) => {
	const { during, after, inFile } = await result;
	t.deepEqual([during, after], [['flows.ipfix.part'], ['flows.ipfix']]);
	t.like(inFile, { flows: FLOWS, records: FLOWS, repeats: 0, invented: [] });
	t.deepEqual(inFile.missing, { flows: 0, packets: 0, octets: 0 });
});

test('a file that is rotated loses nothing, and each part is readable by itself', async (t) => {
	const { rotation, rotatedFlows } = await result;
	t.true(rotation.length >= 2);
	for (const { name, octets } of rotation) {
		t.regex(name, /^rotated-\d{8}T\d+Z(-\d+)?\.ipfix$/);
		t.true(octets < 65_536 + 1024 * 1024);
	}
	t.is(rotatedFlows, FLOWS);
	t.is(
		rotation.reduce((sum, { flows }) => sum + flows, 0),
		FLOWS,
		'no flow is in two parts',
	);
});

test('a UDP collector that comes late decodes at once, and what it missed is counted', async (t) => {
	const { first, second, overUdp, beforeGoing, malformed, full } = await result;
	t.true(full > 5, 'and what met a full send buffer was sent again');
	t.is(malformed, 0, 'templates came before the data');
	const octets = new Map(overUdp.map((sum) => [sum.key, sum.octets]));
	t.deepEqual(
		second.filter((flow) => octets.get(flow.key) !== flow.octets),
		[],
	);
	t.is(beforeGoing.exportedRecords, 1_000);
	t.is(
		beforeGoing.lost.reduce((sum, { records }) => sum + records, 0),
		first.length,
	);
	t.is(
		beforeGoing.lost.reduce((sum, { packets }) => sum + packets, 0),
		first.reduce((sum, flow) => sum + flow.packets, 0),
	);
});

test('a UDP collector that goes away in between: refused datagrams are counted lost, and it decodes when it is back', async (t) => {
	const { total, losses, collectors, beforeGoing, afterGoing } = await result;
	const [udp] = collectors;
	t.true(
		losses.every(({ collector }) => collector === udp?.name),
		'nothing was lost for everybody',
	);
	t.deepEqual(
		{ packets: total.missing.packets, octets: total.missing.octets },
		{
			packets: losses.reduce((sum, { packets }) => sum + packets, 0),
			octets: losses.reduce((sum, { octets }) => sum + octets, 0),
		},
	);
	const refused = (of: typeof beforeGoing) => of.lost.find(({ reason }) => reason === 'udp_refused');
	t.true((refused(afterGoing)?.records ?? 0) > (refused(beforeGoing)?.records ?? 0), 'some were refused');
	t.deepEqual([total.repeats, total.invented], [0, []]);
});

test('templates go over UDP first, again after so many packets, and again after a time', async (t) => {
	const { datagrams, afterQuiet } = await result;
	const first = datagrams.filter((kind) => kind !== 'options')[0];
	t.is(first, 'templates');
	let since = 0;
	for (const kind of datagrams) {
		since = kind === 'templates' ? 0 : since + (kind === 'data' ? 1 : 0);
		if (since > 3) t.fail('more than three packets of data without templates');
	}
	t.true(datagrams.filter((kind) => kind === 'data').length > 10);
	t.is(afterQuiet, 'templates');
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

test('a UDP collector on another machine: without a route it is tried again, with one it gets everything', async (t) => {
	const { away, account, losses } = await inNamespace<{
		away: { reasons: string[]; state: string };
		account: Account;
		losses: unknown[];
	}>('udp_route');
	t.deepEqual(away, { reasons: ['network unreachable'], state: 'backoff' });
	t.deepEqual(losses, []);
	t.like(account, { flows: 100, records: 100, repeats: 0, invented: [] });
	t.deepEqual(account.missing, { flows: 0, packets: 0, octets: 0 });
});
