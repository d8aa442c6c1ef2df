import test from 'ava';
import type { KernelFlow } from './support/kernel.ts';
import { inNamespace } from './support/namespace.ts';
import type { FlowSum } from './support/records.ts';

interface Outcome {
	connected: boolean;
	reason: string;
	exported: number;
	inFlight: number;
}
interface Report {
	kernel: KernelFlow[];
	outcomes: Record<
		'noCertificate' | 'stranger' | 'wrongAuthority' | 'wrongName' | 'missingFile' | 'right',
		Outcome
	>;
	exported: FlowSum[];
}

const result = inNamespace<Report>('tls');

test('with the right certificates on both sides every flow arrives, once', async (t) => {
	const { kernel, outcomes, exported } = await result;
	t.is(kernel.length, 300);
	t.like(outcomes.right, { connected: true, exported: 300 });
	const octets = new Map(exported.map((sum) => [sum.key, sum.octets]));
	t.deepEqual(
		kernel.filter((flow) => octets.get(flow.key) !== flow.octets),
		[],
	);
	t.true(exported.every(({ records }) => records === 1));
});

test('a collector that refuses us after the handshake is given nothing, and its reason is told', async (t) => {
	const { outcomes } = await result;
	for (const [outcome, reason] of [
		[outcomes.noCertificate, /certificate required/i],
		[outcomes.stranger, /refuse our certificate|unknown ca/],
	] as const) {
		t.like(outcome, { connected: false, exported: 0, inFlight: 0 });
		t.regex(outcome.reason, reason);
	}
});

test('a collector that cannot be verified is given nothing', async (t) => {
	const { outcomes } = await result;
	for (const [outcome, reason] of [
		[outcomes.wrongAuthority, /unable to verify|self.signed|issuer/i],
		[outcomes.wrongName, /another\.example/],
		[outcomes.missingFile, /nowhere\.pem/],
	] as const) {
		t.like(outcome, { connected: false, exported: 0, inFlight: 0 });
		t.regex(outcome.reason, reason);
	}
});
