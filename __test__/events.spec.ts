import test from 'ava';
import type { KernelFlow } from './support/kernel.ts';
import { inNamespace } from './support/namespace.ts';
import type { FlowSum } from './support/records.ts';

test('with events a flow shorter than a poll interval is exported once, with the kernel’s counters', async (t) => {
	const { kernel, between, flows } = await inNamespace<{
		kernel: KernelFlow[];
		between: boolean;
		flows: FlowSum[];
	}>('events');
	t.is(kernel.length, 20);
	t.true(between, 'no poll has seen them');
	const counted = (flow: KernelFlow | FlowSum) => [
		flow.key,
		flow.packets,
		flow.octets,
		flow.reversePackets,
		flow.reverseOctets,
	];
	t.deepEqual(flows.map(counted).sort(), kernel.map(counted).sort());
	// A TCP connection has ended when it is closed, and is exported then; nothing follows when its entry goes.
	for (const { key, records, reasons } of flows) t.deepEqual([records, reasons], [1, [3]], key);
});
