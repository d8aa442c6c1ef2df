/**
 * What arrived against what the kernel counted. Each record covers a stretch of its flow's counters, from its total less
 * its delta to its total; together the stretches must cover what the kernel counted, and what is covered twice came
 * twice.
 */
import type { FlowRecord } from '../../lib/index.ts';
import type { KernelFlow } from './kernel.ts';
import { keyOf } from './records.ts';

export interface Account {
	flows: number;
	records: number;
	/** Records that cover something which an earlier one had covered. */
	repeats: number;
	/** What the kernel counted and no record covers. */
	missing: { flows: number; packets: number; octets: number };
	/** Keys of flows with more than the kernel counted, or that it does not know: none, ever. */
	invented: string[];
}

const COUNTERS = [
	['packetTotalCount', 'packetDeltaCount', 'packets'],
	['octetTotalCount', 'octetDeltaCount', 'octets'],
	['reversePacketTotalCount', 'reversePacketDeltaCount', 'reversePackets'],
	['reverseOctetTotalCount', 'reverseOctetDeltaCount', 'reverseOctets'],
] as const;

export function account(kernel: readonly KernelFlow[], received: readonly FlowRecord[]): Account {
	const byFlow = new Map<string, FlowRecord[]>(kernel.map(({ key }) => [key, []]));
	const result: Account = {
		flows: kernel.length,
		records: received.length,
		repeats: 0,
		missing: { flows: 0, packets: 0, octets: 0 },
		invented: [],
	};
	for (const record of received) {
		const records = byFlow.get(keyOf(record));
		if (records === undefined) result.invented.push(keyOf(record));
		else records.push(record);
	}
	for (const flow of kernel) {
		const records = byFlow.get(flow.key) ?? [];
		const missing = COUNTERS.map(([total, delta, name]) => {
			const stretches = records.map((record) => ({
				from: Number(record[total]) - Number(record[delta]),
				to: Number(record[total]),
			}));
			return flow[name] - covered(stretches);
		});
		if (missing.some((amount) => amount < 0)) result.invented.push(flow.key);
		if (missing.some((amount) => amount > 0)) result.missing.flows += 1;
		result.missing.packets += (missing[0] ?? 0) + (missing[2] ?? 0);
		result.missing.octets += (missing[1] ?? 0) + (missing[3] ?? 0);
		result.repeats += repeats(records);
	}
	return result;
}

function covered(stretches: Array<{ from: number; to: number }>): number {
	let sum = 0;
	let end = 0;
	for (const { from, to } of stretches.sort((one, other) => one.from - other.from)) {
		sum += Math.max(0, to - Math.max(from, end));
		end = Math.max(end, to);
	}
	return sum;
}

/** Packets of the original direction tell: every record with news has some, and an end without news comes once. */
function repeats(records: readonly FlowRecord[]): number {
	const seen: Array<{ from: number; to: number }> = [];
	let ends = 0;
	let count = 0;
	for (const record of records) {
		const to = Number(record['packetTotalCount']);
		const from = to - Number(record['packetDeltaCount']);
		const overlaps = seen.some((other) => from < other.to && other.from < to);
		if (record['flowEndReason'] === 3) ends += 1;
		if (overlaps || (from === to && ends > 1)) count += 1;
		seen.push({ from, to });
	}
	return count;
}

/** Messages of one session whose sequence number is not the number of records before them (RFC 7011 section 3.1). */
export function sequenceErrors(records: readonly FlowRecord[]): number {
	const numberOf = (record: FlowRecord) => (record['message'] as { sequenceNumber: number }).sequenceNumber;
	let wrong = 0;
	let begun = -1;
	for (const [index, record] of records.entries()) {
		if (numberOf(record) === begun) continue;
		begun = numberOf(record);
		if (begun !== index) wrong += 1;
	}
	return wrong;
}
