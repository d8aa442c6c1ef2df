/** TLS with certificates made here: a collector that wants a client certificate, wrong ones on both sides, renewal. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TlsOptions } from 'node:tls';
import { FlowExporter } from '../../lib/index.ts';
import { account } from '../support/account.ts';
import { makeAuthority, makeCertificate, revoke } from '../support/certificates.ts';
import { FaultyCollector } from '../support/faulty_collector.ts';
import { temporaryFolder } from '../support/folder.ts';
import {
	flushKernel,
	kernelFlows,
	run,
	seen,
	sleep,
	track,
	unansweredFlows,
	until,
} from '../support/kernel.ts';
import { report } from '../support/report.ts';

track();
const ca = makeAuthority('ca');
const other = makeAuthority('other');
const NAME = 'collector.example';
const server = makeCertificate(ca, NAME);
const client = makeCertificate(ca, 'agent');
const renewed = makeCertificate(ca, 'agent-2');
const again = makeCertificate(ca, 'agent-3');
const stranger = makeCertificate(other, 'agent');
const expired = makeCertificate(ca, 'agent', { from: '20200101000000Z', to: '20200201000000Z' });
const early = makeCertificate(ca, 'agent', { from: '20980101000000Z', to: '20990101000000Z' });
const revokedClient = makeCertificate(ca, 'agent');
revoke(ca, revokedClient);
const revokedServer = makeCertificate(ca, NAME);
const crl = revoke(ca, revokedServer);
const expiredServer = makeCertificate(ca, NAME, { from: '20200101000000Z', to: '20200201000000Z' });
const earlyServer = makeCertificate(ca, NAME, { from: '20980101000000Z', to: '20990101000000Z' });

const mutual = { ca: ca.cert, crl, requestCert: true, rejectUnauthorized: true };
const listen = (options: TlsOptions) => new FaultyCollector([], options).listen();
const right = await listen({ ...server, ...mutual });
await unansweredFlows('127.0.0.1', 300, 10);
const kernel = kernelFlows().filter(({ key }) => key.startsWith('udp'));

const settings = { ca: ca.cert, crl, ...client, serverName: NAME };
/** Exports everything with these credentials, or hears why not. */
async function attempt(credentials: Record<string, string>, to: FaultyCollector = right) {
	const exporter = new FlowExporter({
		collectors: [{ url: to.url, reconnect: { initial: 50, max: 100 }, ...credentials }],
		// Not the attempts before this one.
		protocols: ['udp'],
		initialDelta: 'total',
		pollInterval: 100,
		activeTimeout: 100,
		idleTimeout: 100,
		gracePeriod: 500,
	});
	let connected = false;
	let attempts = 0;
	let reason = '';
	exporter.on('connect', () => {
		connected = true;
	});
	exporter.on('disconnect', (event) => {
		reason ||= event.reason;
		attempts += 1;
	});
	await exporter.start();
	await until('it is accepted or refused twice', () => connected || attempts >= 2);
	if (connected) await until('all is exported', () => exporter.stats().exported.records >= kernel.length);
	const { exported, batchesInFlight, collectors } = exporter.stats();
	const [session] = collectors;
	await exporter.stop();
	if (to !== right) await to.ended();
	return { connected, reason, exported: exported.records, inFlight: batchesInFlight, session };
}

async function alertFor(credentials: Record<string, string>) {
	const folder = temporaryFolder('alert');
	for (const [name, text] of Object.entries({ ca: ca.cert, cert: server.cert, key: server.key }))
		writeFileSync(join(folder, name), text);
	const port = 20_000 + (process.pid % 10_000);
	const options = ['-accept', `127.0.0.1:${port}`, '-CAfile', 'ca', '-cert', 'cert', '-key', 'key'];
	const child = spawn('openssl', ['s_server', ...options, '-Verify', '1', '-verify_return_error', '-quiet'], {
		cwd: folder,
		stdio: 'ignore',
	});
	await until('it listens', () => run('ss', '-Hltn').includes(`:${port} `));
	const exporter = new FlowExporter({
		collectors: [{ url: `tls://127.0.0.1:${port}`, reconnect: { initial: 50, max: 100 }, ...credentials }],
	});
	const reasons: string[] = [];
	exporter.on('disconnect', ({ reason }) => reasons.push(reason));
	await exporter.start();
	await until('it is refused again and again', () => reasons.length >= 2);
	const { connections = -1 } = exporter.stats().collectors[0] ?? {};
	await exporter.stop();
	child.kill();
	await once(child, 'close');
	return { reasons: reasons.slice(0, 2), connections };
}

const { cert: _cert, key: _key, ...anonymous } = settings;
const outcomes = {
	noCertificate: await attempt(anonymous),
	stranger: await attempt({ ...settings, ...stranger }),
	expired: await attempt({ ...settings, ...expired }),
	early: await attempt({ ...settings, ...early }),
	revoked: await attempt({ ...settings, ...revokedClient }),
	wrongAuthority: await attempt({ ca: other.cert, serverName: NAME }),
	wrongName: await attempt({ ...settings, serverName: 'another.example' }),
	missingFile: await attempt({ ...settings, ca: '/nowhere.pem' }),
	mismatch: await attempt({ ...settings, key: renewed.key }),
	revokedServer: await attempt(settings, await listen({ ...revokedServer, ...mutual })),
	expiredServer: await attempt(settings, await listen({ ...expiredServer, ...mutual })),
	earlyServer: await attempt(settings, await listen({ ...earlyServer, ...mutual })),
	oldVersion: await attempt(
		{ ...settings, minVersion: 'TLSv1.3' },
		await listen({ ...server, ...mutual, maxVersion: 'TLSv1.2' }),
	),
	version12: await attempt(settings, await listen({ ...server, ...mutual, maxVersion: 'TLSv1.2' })),
	version13: await attempt({ ...settings, minVersion: 'TLSv1.3' }),
};
/** OpenSSL's own server sends alerts, where Node's closes. */
const alerts = {
	required: await alertFor(anonymous),
	expired: await alertFor({ ...settings, ...expired }),
	stranger: await alertFor({ ...settings, ...stranger }),
};
await until('the sessions are read out', () => right.sessions.every(({ open }) => !open));
const exported = account(kernel, right.records);

/** Renewal under load: by changed files, by a broken change, by request. */
flushKernel();
const folder = temporaryFolder('renewal');
const path = (name: string) => join(folder, name);
function install({ cert, key }: { cert: string; key: string }): void {
	for (const [name, text] of [
		['cert.pem', cert],
		['key.pem', key],
	] as const) {
		writeFileSync(path(`${name}.new`), text);
		renameSync(path(`${name}.new`), path(name));
	}
}
install(client);
const busy = await listen({ ...server, ...mutual });
const second = await listen({ ...server, ...mutual });
const exporter = new FlowExporter({
	collectors: [busy, second].map(({ url }) => ({
		...{ url, ca: ca.cert, crl, serverName: NAME },
		...{ cert: path('cert.pem'), key: path('key.pem') },
	})),
	delivery: 'all',
	protocols: ['udp'],
	pollInterval: 100,
	activeTimeout: 100,
	idleTimeout: '1m',
	batchRecords: 50,
});
const warnings: string[] = [];
const disconnects: string[] = [];
exporter.on('warning', ({ code }) => warnings.push(code));
exporter.on('disconnect', ({ reason }) => disconnects.push(reason));
await exporter.start();
await until('both are open', () => exporter.stats().collectors.every(({ state }) => state === 'open'));
let loading = true;
const load = (async () => {
	for (let round = 0; loading && round < 500; round += 1) {
		await unansweredFlows('127.0.0.1', 40, 20);
		await sleep(20);
	}
})();
const users = (collector: FaultyCollector) => collector.sessions.map(({ subject }) => subject);
install(renewed);
await until('both have moved to the new files', () =>
	[busy, second].every((collector) => users(collector).includes('agent-2')),
);
const expiry = exporter.stats().collectors[0]?.certificateExpiry ?? 0;
writeFileSync(path('key.pem'), 'not a key');
await until('the broken change is told', () => warnings.includes('ERR_TLS'));
const broken = { reload: exporter.stats().lastReloadSuccessful, users: users(busy) };
install(again);
exporter.renewCertificates();
await until('both have moved again', () =>
	[busy, second].every((collector) => users(collector).includes('agent-3')),
);
loading = false;
await load;
await seen(exporter);
const underLoad = kernelFlows().filter(({ key }) => key.startsWith('udp'));
flushKernel();
await until('all is exported', () => exporter.stats().table?.connections === 0);
const reload = exporter.stats().lastReloadSuccessful;
await exporter.stop();
await Promise.all([busy.ended(), second.ended()]);
report({
	outcomes,
	alerts,
	exported,
	renewal: {
		accounts: [busy, second].map(({ records }) => account(underLoad, records)),
		users: [users(busy), users(second)],
		errors: [busy, second].flatMap(({ sessions }) => sessions.flatMap(({ error }) => error ?? [])),
		losses: exporter.stats().losses,
		duplicates: exporter.stats().collectors.map(({ duplicateRecords }) => duplicateRecords),
		disconnects: disconnects.filter((reason) => reason !== 'closed'),
		expiresInHours: (expiry - Date.now()) / 3_600_000,
		broken,
		reload,
	},
});
