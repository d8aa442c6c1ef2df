import test from 'ava';
import type { KernelFlow } from './support/kernel.ts';
import { inNamespace } from './support/namespace.ts';
import type { FlowSum } from './support/records.ts';

interface Report {
	kernel: KernelFlow[];
	kernelOwn: number;
	exported: FlowSum[];
	losses: unknown[];
	left: number;
}

const report = inNamespace<Report>('counters');

test('packets and octets of each flow equal the kernel’s at its end, both directions, IPv4 and IPv6, TCP and UDP', async (t) => {
	const { kernel, exported, losses } = await report;
	t.is(kernel.length, 10, 'two families, three TCP and two UDP flows each');
	const sums = new Map(exported.map((sum) => [sum.key, sum]));
	for (const flow of kernel) {
		const sum = sums.get(flow.key);
		t.truthy(sum, `${flow.key} was exported`);
		const counted = [flow.packets, flow.octets, flow.reversePackets, flow.reverseOctets];
		t.deepEqual(
			sum && [sum.packets, sum.octets, sum.reversePackets, sum.reverseOctets],
			counted,
			`deltas of ${flow.key}`,
		);
		t.deepEqual(sum?.totals, counted, `totals of ${flow.key}`);
		t.true(flow.octets > 0 && flow.reverseOctets > 0);
	}
	t.deepEqual(losses, []);
});

test('each connection ends with flowEndReason 3 exactly once, and as its last record', async (t) => {
	const { exported, left } = await report;
	t.is(exported.length, 10);
	for (const { key, reasons } of exported) {
		t.is(reasons.filter((reason) => reason === 3).length, 1, `${key}: ${reasons}`);
		t.is(reasons.at(-1), 3, `${key}: ${reasons}`);
	}
	t.is(left, 0, 'nothing is left in the table');
});

test('the agent’s own session is left out', async (t) => {
	const { kernel, kernelOwn, exported } = await report;
	t.is(kernelOwn, 1, 'the kernel tracked it');
	t.is(exported.length, kernel.length);
});
