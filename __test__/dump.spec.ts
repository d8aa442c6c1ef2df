import test from 'ava';
import { interfacesOf, publicDeclarations } from '../scripts/docs/declarations.ts';
import type { KernelFlow } from './support/kernel.ts';
import { inNamespace } from './support/namespace.ts';

type Row = Pick<KernelFlow, 'key' | 'octets' | 'reverseOctets'>;
interface Report extends Record<'all' | 'ipv6' | 'ipv6Twice' | 'tcp' | 'excluded' | 'otherZone', Row[]> {
	names: string[];
	kernel: KernelFlow[];
	lines: string[];
	table: string[];
}

const report = inNamespace<Report>('dump');

test('what a dump says of connections is what their type says', async (t) => {
	const { names } = await report;
	const shipped = interfacesOf(publicDeclarations());
	const declared = shipped
		.filter(({ name }) => name === 'Connection' || name === 'ConnectionTuple')
		.flatMap(({ heritage, members }) => [
			...members.map(({ name }) => name),
			...[...heritage.matchAll(/'(\w+)'/g)].map(([, name]) => name),
		]);
	t.deepEqual(
		names.filter((name) => !declared.includes(name)),
		[],
	);
	// Those that the type promises always.
	for (const name of ['protocolIdentifier', 'ingressVRFID', 'egressVRFID', 'mark', 'conntrackId', 'status'])
		t.true(names.includes(name), name);
});

test('dump gives the connections that conntrack -L lists, with their counters, and filters them', async (t) => {
	const { kernel, all, ipv6, ipv6Twice, tcp, excluded, otherZone, lines, table } = await report;
	const rows = (flows: readonly Row[]) =>
		flows.map(({ key, octets, reverseOctets }) => `${key} ${octets} ${reverseOctets}`).sort();
	t.is(kernel.length, 4);
	t.deepEqual(rows(all), rows(kernel));
	t.deepEqual(rows(ipv6), rows(kernel.filter(({ key }) => key.includes('::1'))));
	t.deepEqual(rows(ipv6Twice), rows(ipv6));
	t.deepEqual(rows(tcp), rows(kernel.filter(({ key }) => key.startsWith('tcp'))));
	t.deepEqual(rows(excluded), rows(ipv6));
	t.deepEqual(otherZone, []);
	t.deepEqual(
		lines,
		kernel.filter(({ key }) => key.startsWith('udp 127')).map(({ key }) => key),
	);
	t.is(table.length, 5, 'a heading and four connections');
});
