import test from 'ava';
import { PollWarnings } from '../lib/exporter/poll_warnings.ts';

const POLL = {
	...{ ipv4: 0, ipv6: 0, kernelEntries: 7, kernelMax: 100, added: 0, ended: 0 },
	...{ durationMs: 1, complete: true },
};
const ROOM = { refusedConnections: 0, maxConnections: 10 };

function watched(zones: number[]) {
	const told: string[] = [];
	const warnings = new PollWarnings({ zones }, (code, message) => told.push(`${code} ${message}`));
	return {
		told,
		polled: (poll: Partial<typeof POLL>, table = ROOM) => warnings.polled({ ...POLL, ...poll }, table),
	};
}

test('zones without a connection are told once, with the entries that the kernel has', (t) => {
	const { told, polled } = watched([65_520, 65_510]);
	polled({ complete: false });
	polled({ kernelEntries: 0 });
	t.deepEqual(told, [], 'an incomplete poll and an empty table say nothing');
	polled({});
	polled({ kernelEntries: 9 });
	t.is(told.length, 1);
	t.regex(told[0] ?? '', /^NOTHING_SELECTED none of the 7 entries .* in the zones 65520, 65510: .*--zone/);
});

test('zones that had a connection may be empty later on', (t) => {
	const { told, polled } = watched([7]);
	polled({ ipv6: 1 });
	polled({});
	t.deepEqual(told, []);
});

test('without zones an empty selection is no matter of zones', (t) => {
	const { told, polled } = watched([]);
	polled({});
	t.deepEqual(told, []);
});

test('a full table is told whenever it begins to refuse', (t) => {
	const { told, polled } = watched([]);
	const full = { refusedConnections: 3, maxConnections: 10 };
	for (const table of [full, full, ROOM, full]) polled({}, table);
	const text = 'TABLE_FULL 3 connections are left out: the table holds at most 10';
	t.deepEqual(told, [text, text]);
});
