import test from 'ava';
import type { ExporterStats } from '../lib/index.ts';
import type { Account } from './support/account.ts';
import { inNamespace } from './support/namespace.ts';

interface Outcome {
	name: string;
	breaks: string[];
	losses: ExporterStats['losses'];
	firstMeanwhile?: string;
	together: Account;
	collectors: Array<
		Account & {
			connections: number;
			sequenceErrors: number;
			octets: number[];
			errors: string[];
			session: ExporterStats['collectors'][number];
		}
	>;
}

const result = inNamespace<Outcome[]>('faults');
const FLOWS: Record<string, number> = { 'all, one does not read': 3_000 };
const RECORD_OCTETS = 110;
/** The scenario's window, and the batch that may begin just below it. */
const MOST_UNSETTLED = 65_536 + 100 * RECORD_OCTETS;

/** Packets and octets of losses that concern everybody, or this collector. */
function lost(losses: ExporterStats['losses'], collector: string | null) {
	const sum = { packets: 0, octets: 0 };
	for (const loss of losses) {
		if (loss.collector !== null && loss.collector !== collector) continue;
		sum.packets += loss.packets;
		sum.octets += loss.octets;
	}
	return sum;
}

for (const [name, reason] of [
	['refuse', /connection refused$/],
	['delay', null],
	['stall', /^stalled: \d+ octets wait and none was acknowledged for 400 ms$/],
	['slow', /^stalled: /],
	['reset', /^reset by the collector$/],
	['half-close', /^closed by the collector$/],
	['blackhole', /^stalled: |no answer within 300 ms$/],
	['mute', /^stalled: /],
	['garbage', null],
	['gone for long', /connection refused$/],
	['reset over TLS', /by the collector$/],
	['stall over TLS', /^stalled: /],
	['all, one resets', /^reset by the collector$/],
	['all, one is mute', /^stalled: /],
	['all, one does not read', null],
	['failover', /^reset by the collector$/],
] as const) {
	test(`${name}: what arrived, less repeats, plus the losses counted, is what the kernel counted`, async (t) => {
		const outcome = (await result).find((one) => one.name === name);
		if (outcome === undefined) return t.fail();
		const { breaks, losses, together, collectors } = outcome;
		t.deepEqual([together.flows, together.invented], [FLOWS[name] ?? 800, []]);
		const all = name.startsWith('all');
		if (!all) t.like(together.missing, lost(losses, null));
		for (const collector of collectors) {
			const { session, repeats, connections } = collector;
			if (all) t.like(collector.missing, lost(losses, session.name));
			t.deepEqual([collector.errors, collector.invented], [[], []]);
			t.is(collector.sequenceErrors, 0, 'each session counts from 0');
			t.true(repeats <= session.duplicateRecords, `${repeats} of ${session.duplicateRecords}`);
			t.true(session.duplicateRecords * RECORD_OCTETS <= (connections - 1) * MOST_UNSETTLED);
			t.is(session.unsettledBytes, 0);
		}
		if (reason === null) {
			t.deepEqual(breaks, []);
			for (const { repeats } of collectors) t.is(repeats, 0);
		} else {
			t.true(breaks.length > 0);
			for (const text of breaks) t.regex(text, reason);
		}
	});
}

test('nothing comes twice where the kernel could tell what had arrived', async (t) => {
	for (const name of ['refuse', 'stall', 'slow', 'reset', 'blackhole', 'gone for long', 'failover']) {
		t.is((await result).find((one) => one.name === name)?.together.repeats, 0, name);
	}
});

test('under failover nothing is lost while one collector lives', async (t) => {
	const outcome = (await result).find(({ name }) => name === 'failover');
	t.deepEqual(outcome?.losses, []);
	t.true(
		outcome?.collectors.every(({ records }) => records > 0),
		'both were used',
	);
});

test('with all, a collector that fails takes nothing from the other', async (t) => {
	for (const name of ['all, one resets', 'all, one is mute', 'all, one does not read']) {
		const other = (await result).find((one) => one.name === name)?.collectors[1];
		t.deepEqual(other?.missing, { flows: 0, packets: 0, octets: 0 }, name);
		t.is(other?.repeats, 0);
		t.is(other?.connections, 1);
	}
});

test('with all, a collector that does not read does not keep the other waiting', async (t) => {
	const outcome = (await result).find(({ name }) => name === 'all, one does not read');
	t.is(outcome?.firstMeanwhile, 'stalled', 'the other had everything while the first was still stalled');
	t.true((outcome?.losses.find(({ reason }) => reason === 'stalled')?.records ?? 0) > 0);
});
