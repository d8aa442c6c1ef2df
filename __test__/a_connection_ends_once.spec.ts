import test from 'ava';
import type { KernelFlow } from './support/kernel.ts';
import { inNamespace } from './support/namespace.ts';
import type { FlowSum } from './support/records.ts';

test('a closed connection is exported with flowEndReason 3 at once and only once, although the kernel keeps its entry', async (t) => {
	const { kernel, whileKept, afterwards } = await inNamespace<{
		kernel: KernelFlow[];
		whileKept: FlowSum[];
		afterwards: FlowSum[];
	}>('ends_once');
	t.is(kernel.length, 30);
	t.true(
		kernel.every(({ state }) => state === 'TIME_WAIT'),
		'the kernel still holds them',
	);
	t.is(whileKept.length, 30);
	for (const { key, reasons } of whileKept)
		t.is(reasons.filter((reason) => reason === 3).length, 1, `${key}: ${reasons}`);
	t.deepEqual(
		afterwards.map(({ key, records }) => [key, records]),
		whileKept.map(({ key, records }) => [key, records]),
		'nothing follows when the entries are gone',
	);
});
