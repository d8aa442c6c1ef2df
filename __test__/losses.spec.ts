import test from 'ava';
import { Ledger, lossesOf } from '../lib/exporter/events.ts';

test('what is lost without a record, as by a connection that was refused before, is told and counted too', (t) => {
	const nothing = { records: 0, packets: 0, octets: 0 };
	const first = { reason: 'refused', records: 1, packets: 2, octets: 200 };
	const growth = { reason: 'refused', records: 1, packets: 7, octets: 900 };
	const evicted = { reason: 'evicted', records: 0, packets: 3, octets: 300 };
	const ledger = new Ledger();
	const told = (...losses: Array<typeof first>) => ledger.takeLosses(lossesOf(losses, []));
	t.deepEqual(told(first, { reason: 'stale', ...nothing }), [{ ...first, collector: null }]);
	t.deepEqual(told(growth, evicted), [
		{ reason: 'refused', collector: null, records: 0, packets: 5, octets: 700 },
		{ ...evicted, collector: null },
	]);
	t.deepEqual(told(growth, evicted), []);
});
