import test from 'ava';
import type { ExporterStats } from '../lib/index.ts';
import type { Account } from './support/account.ts';
import { inNamespace } from './support/namespace.ts';

interface Outcome {
	connected: boolean;
	reason: string;
	exported: number;
	inFlight: number;
}
interface Report {
	outcomes: Record<string, Outcome>;
	alerts: Record<string, { reasons: string[]; connections: number }>;
	exported: Account;
	renewal: {
		accounts: Account[];
		users: string[][];
		errors: string[];
		losses: ExporterStats['losses'];
		duplicates: number[];
		disconnects: string[];
		expiresInHours: number;
		broken: { reload: boolean; users: string[] };
		reload: boolean;
	};
}

const result = inNamespace<Report>('tls');

test('with the right certificates on both sides every flow arrives, once, over TLS 1.2 and 1.3', async (t) => {
	const { outcomes, exported } = await result;
	for (const version of ['version12', 'version13'])
		t.like(outcomes[version], { connected: true, exported: 300 });
	t.deepEqual(exported, {
		flows: 300,
		records: 300,
		repeats: 0,
		missing: { flows: 0, packets: 0, octets: 0 },
		invented: [],
	});
});

for (const [name, reason] of [
	['noCertificate', /certificate required/i],
	['stranger', /refuse our certificate|unknown ca/],
	['expired', /refuse our certificate|expired/],
	['early', /refuse our certificate|bad certificate/],
	['revoked', /refuse our certificate|revoked/],
] as const) {
	test(`a collector that refuses us after the handshake is given nothing: ${name}`, async (t) => {
		const outcome = (await result).outcomes[name];
		t.like(outcome, { connected: false, exported: 0, inFlight: 0 });
		t.regex(outcome?.reason ?? '', reason);
	});
}

for (const [name, reason] of [
	['required', /alert certificate required/],
	['expired', /alert certificate expired/],
	['stranger', /alert unknown ca/],
] as const) {
	test(`an alert after the handshake is a refusal, and its words are told: ${name}`, async (t) => {
		const { reasons = [], connections } = (await result).alerts[name] ?? {};
		t.is(connections, 0, 'it was never open');
		t.is(reasons.length, 2);
		for (const text of reasons) t.regex(text, reason);
	});
}

for (const [name, reason] of [
	['wrongAuthority', /no authority in ca has signed the collector's certificate/],
	['wrongName', /another\.example/],
	['missingFile', /^ca: \S*nowhere\.pem: no such file$/],
	['mismatch', /^key: this key does not belong to the certificate in cert$/],
	['revokedServer', /certificate revoked/],
	['expiredServer', /certificate has expired/],
	['earlyServer', /certificate is not yet valid/],
	['oldVersion', /protocol version/],
] as const) {
	test(`a collector that cannot be verified is given nothing: ${name}`, async (t) => {
		const outcome = (await result).outcomes[name];
		t.like(outcome, { connected: false, exported: 0, inFlight: 0 });
		t.regex(outcome?.reason ?? '', reason);
	});
}

test('renewed certificates are used, by changed files and by request, and under load nothing is lost or repeated', async (t) => {
	const { renewal } = await result;
	t.deepEqual(renewal.users, [
		['agent', 'agent-2', 'agent-3'],
		['agent', 'agent-2', 'agent-3'],
	]);
	for (const account of renewal.accounts) {
		t.true(account.flows > 500);
		t.like(account, { repeats: 0, invented: [], missing: { flows: 0, packets: 0, octets: 0 } });
	}
	t.like(renewal, { errors: [], losses: [], duplicates: [0, 0], disconnects: [] });
	t.true(renewal.expiresInHours > 40 && renewal.expiresInHours < 50);
});

test('changed certificates that cannot be used are told, and the session keeps those that it has', async (t) => {
	const { broken, reload } = (await result).renewal;
	t.deepEqual(broken, { reload: false, users: ['agent', 'agent-2'] });
	t.true(reload, 'until some could be used');
});
