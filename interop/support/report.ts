/** What a scenario tells its test, and the comparison that every collector has in common. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { runProgram, UNSHARE } from '../../__test__/support/namespace.ts';
import type { Exported } from './agent.ts';
import type { Connection, Counts, Ends } from './kernel.ts';
import { CONNECTIONS } from './traffic.ts';

/** One flow record as a collector read it; what a collector does not show is absent. */
export interface ReadRecord extends Counts {
	/** See `keyOf`. */
	key: string;
	/** Packets, octets, reverse packets, reverse octets since the connection's start. */
	totals?: number[];
	translated?: Ends | null;
	/** ISO 8601, milliseconds. */
	start?: string;
	end?: string;
	icmp?: number;
	zone?: number;
	mark?: number;
	id?: number;
}

export interface Report extends Exported {
	records: ReadRecord[];
}

/** Seconds; the longest wait of a scenario ends earlier, and says for what it waited. */
const SCENARIO_LIMIT = '120';
const SCENARIOS = new URL('../scenarios/', import.meta.url);

let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a script of `scenarios/` in a network namespace of its own, after the file's earlier ones; what it printed
 * last, as JSON. Whoever does not wait for it hears nothing of its failure.
 */
export function scenario<T>(name: string, ...args: string[]): Promise<T> {
	const result = last.then(() => runScenario<T>(name, args));
	last = result.catch(() => undefined);
	return result;
}

async function runScenario<T>(name: string, args: string[]): Promise<T> {
	const script = fileURLToPath(new URL(`${name}.ts`, SCENARIOS));
	const command = ['unshare', ...UNSHARE, process.execPath, '--import=tsx', script, ...args];
	const { code, signal, stdout, stderr } = await runProgram('timeout', [SCENARIO_LIMIT, ...command]);
	if (code !== 0)
		throw new Error(`scenario ${[name, ...args].join(' ')} ended with ${code ?? signal}:\n${stderr}`);
	return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as T;
}

/** The end of a scenario. */
export function finish(report: unknown): void {
	process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0));
}

/** A folder that goes when the scenario ends. */
export function temporaryFolder(): string {
	const folder = mkdtempSync(join(tmpdir(), 'conntrack-ipfix-interop-'));
	process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
	return folder;
}

/** Deltas of a connection's records, added up. */
export function sumByKey(records: ReadonlyArray<Counts & { key: string }>): Map<string, Counts> {
	const sums = new Map<string, Counts>();
	for (const record of records) {
		const sum = sums.get(record.key) ?? { packets: 0, octets: 0, reversePackets: 0, reverseOctets: 0 };
		sums.set(record.key, sum);
		sum.packets += record.packets;
		sum.octets += record.octets;
		sum.reversePackets += record.reversePackets;
		sum.reverseOctets += record.reverseOctets;
	}
	return sums;
}

function countsOf({ packets, octets, reversePackets, reverseOctets }: Counts): Counts {
	return { packets, octets, reversePackets, reverseOctets };
}

/** The kernel's and the collector's sums of every connection, both directions, and that nothing else was read. */
export function sumsEqualTheKernels(t: ExecutionContext, { kernel, records, complaints }: Report): void {
	t.is(kernel.length, CONNECTIONS);
	const ofKernel = Object.fromEntries(sumByKey(kernel));
	t.deepEqual(
		Object.fromEntries([...sumByKey(records)].sort()),
		Object.fromEntries(Object.entries(ofKernel).sort()),
	);
	t.true(records.length > kernel.length, 'some connections were exported in parts');
	t.deepEqual(complaints, [], 'the exporter warned of nothing');
}

/** What each record says of its connection beside the deltas, for all that the collector shows. */
export function attributesEqualTheKernels(t: ExecutionContext, { kernel, records }: Report): void {
	const byKey = new Map(kernel.map((connection) => [connection.key, connection]));
	const last = new Map(records.map((record) => [record.key, record]));
	for (const record of records) {
		const connection = byKey.get(record.key);
		const { key, icmp, zone, mark, id, translated } = record;
		t.truthy(connection, key);
		const shown = withoutUndefined({ key, icmp, zone, mark, id, translated });
		t.like(connection as Connection, shown as Partial<Connection>, key);
		if (translated === null) t.is(connection?.translated, null, key);
	}
	for (const { key, totals } of last.values()) {
		const connection = byKey.get(key);
		if (totals !== undefined && connection !== undefined)
			t.deepEqual(totals, Object.values(countsOf(connection)), `totals of ${key}`);
	}
}

function withoutUndefined(values: Record<string, unknown>): Record<string, unknown> {
	return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
