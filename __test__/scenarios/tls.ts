/** TLS with certificates made here by openssl: a collector that wants a client certificate, and wrong ones on both sides. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Collector, FlowExporter, type FlowRecord } from '../../lib/index.ts';
import { flushKernel, kernelFlows, track, unansweredFlows, until } from '../support/kernel.ts';
import { sumByFlow } from '../support/records.ts';
import { report } from '../support/report.ts';

track();
const folder = mkdtempSync(join(tmpdir(), 'tls-'));
const path = (name: string) => join(folder, name);
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
for (const authority of ['ca', 'other']) {
	openssl(
		'req',
		'-x509',
		...KEY,
		'-keyout',
		`${authority}.key`,
		'-out',
		`${authority}.pem`,
		'-days',
		'2',
		'-subj',
		`/CN=${authority}`,
	);
}
for (const [name, authority, subject] of [
	['server', 'ca', 'collector.example'],
	['client', 'ca', 'agent'],
	['stranger', 'other', 'agent'],
] as const) {
	const alternative = `subjectAltName=DNS:${subject}`;
	openssl(
		'req',
		...KEY,
		'-keyout',
		`${name}.key`,
		'-out',
		`${name}.csr`,
		'-subj',
		`/CN=${subject}`,
		'-addext',
		alternative,
	);
	openssl(
		'x509',
		'-req',
		'-in',
		`${name}.csr`,
		'-CA',
		`${authority}.pem`,
		'-CAkey',
		`${authority}.key`,
		'-CAcreateserial',
		'-days',
		'2',
		'-copy_extensions',
		'copy',
		'-out',
		`${name}.pem`,
	);
}

const collector = new Collector({
	listen: ['tls://127.0.0.1:0'],
	cert: path('server.pem'),
	key: path('server.key'),
	ca: path('ca.pem'),
});
await collector.start();
const url = collector.addresses[0] ?? '';
const records: FlowRecord[] = [];
const reading = (async () => {
	for await (const batch of collector) records.push(...batch);
})();
await unansweredFlows('127.0.0.1', 300, 10);
const kernel = kernelFlows(Number(new URL(url).port));

/** Exports everything with these credentials, or hears why not. */
async function attempt(
	credentials: Record<string, string>,
): Promise<{ connected: boolean; reason: string; exported: number; inFlight: number }> {
	const exporter = new FlowExporter({
		collectors: [{ url, reconnect: { initial: 50, max: 100 }, ...credentials }],
		// Not the attempts before this one.
		protocols: ['udp'],
		initialDelta: 'total',
		pollInterval: 100,
		activeTimeout: 100,
		idleTimeout: 100,
		gracePeriod: 500,
	});
	let connected = false;
	let reason = '';
	exporter.on('connect', () => {
		connected = true;
	});
	exporter.on('disconnect', (event) => {
		reason ||= event.reason;
	});
	await exporter.start();
	await until('it is accepted or refused', () => connected || reason !== '');
	if (connected) await until('all is exported', () => exporter.stats().exported.records >= kernel.length);
	const { exported, batchesInFlight } = exporter.stats();
	await exporter.stop();
	return { connected, reason, exported: exported.records, inFlight: batchesInFlight };
}

const right = {
	ca: path('ca.pem'),
	cert: path('client.pem'),
	key: path('client.key'),
	serverName: 'collector.example',
};
const { cert: _cert, key: _key, ...anonymous } = right;
const outcomes = {
	noCertificate: await attempt(anonymous),
	stranger: await attempt({ ...right, cert: path('stranger.pem'), key: path('stranger.key') }),
	wrongAuthority: await attempt({ ...right, ca: path('other.pem') }),
	wrongName: await attempt({ ...right, serverName: 'another.example' }),
	missingFile: await attempt({ ...right, ca: path('nowhere.pem') }),
	right: await attempt({ ...right, minVersion: 'TLSv1.3' }),
};
flushKernel();
await until('the sessions are read out', () => collector.stats().sessions === 0);
await collector.stop();
await reading;
report({ kernel, outcomes, exported: [...sumByFlow(records).values()] });
