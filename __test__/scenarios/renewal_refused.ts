/** Certificate files change to what the collector refuses, and then to what it takes, while a session is open. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FlowExporter } from '../../lib/index.ts';
import { type Certified, makeAuthority, makeCertificate } from '../support/certificates.ts';
import { FaultyCollector } from '../support/faulty_collector.ts';
import { temporaryFolder } from '../support/folder.ts';
import { sleep, track, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

track();
const NAME = 'collector.example';
const ca = makeAuthority('ca');
const server = makeCertificate(ca, NAME);
const good = makeCertificate(ca, 'agent');
const renewed = makeCertificate(ca, 'agent-2');
const stranger = makeCertificate(makeAuthority('other'), 'stranger');
const mutual = { ...server, ca: ca.cert, requestCert: true };
const strict = () => new FaultyCollector([], { ...mutual, rejectUnauthorized: true }).listen();

/** A collector, and an exporter with an open session to it whose certificates are files. */
async function open(
	...collectors: Array<{ to: FaultyCollector; reconnect: { initial: number; max: number } }>
) {
	const folder = temporaryFolder('renewal');
	const path = (name: string) => join(folder, name);
	const install = (certified: Certified) => {
		// The key first: what is read in between does not belong together.
		for (const part of ['key', 'cert'] as const) {
			writeFileSync(path(`${part}.new`), certified[part]);
			renameSync(path(`${part}.new`), path(part));
		}
	};
	install(good);
	const exporter = new FlowExporter({
		collectors: collectors.map(({ to, reconnect }) => ({
			...{ url: to.url, ca: ca.cert, serverName: NAME, reconnect },
			...{ cert: path('cert'), key: path('key') },
		})),
		delivery: 'all',
	});
	const refused: string[] = [];
	exporter.on('warning', ({ code, message }) => {
		if (code === 'ERR_TLS' && !message.includes('cannot be used')) refused.push(message);
	});
	await exporter.start();
	await until('all are open', () => exporter.stats().collectors.every(({ state }) => state === 'open'));
	return { exporter, install, refused };
}
const users = (collector: FaultyCollector) => collector.sessions.map(({ subject }) => subject);

// Refused again and again.
const often = await strict();
const one = await open({ to: often, reconnect: { initial: 50, max: 60_000 } });
one.install(stranger);
await until('it is refused six times', () => often.refusals >= 6);
const [session] = one.exporter.stats().collectors;
const again = {
	users: users(often),
	told: one.refused.length,
	state: session?.state,
	connections: session?.connections,
	reload: one.exporter.stats().lastReloadSuccessful,
};
await one.exporter.stop();

// The next try is ten minutes away: it is the change that counts. Another collector takes whatever is shown.
const seldom = await strict();
const lenient = await new FaultyCollector([], { ...mutual, rejectUnauthorized: false }).listen();
const reconnect = { initial: 600_000, max: 600_000 };
const both = await open({ to: seldom, reconnect }, { to: lenient, reconnect });
both.install(stranger);
await until('one takes them', () => users(lenient).includes('stranger'));
await until('the other refuses them', () => both.refused.length > 0);
const whileRefused = { users: users(seldom), reload: both.exporter.stats().lastReloadSuccessful };
both.install(renewed);
await until('both use the good ones', () =>
	[seldom, lenient].every((collector) => users(collector).includes('agent-2')),
);
await until('that is told', () => both.exporter.stats().lastReloadSuccessful);
const taken = { users: users(seldom), refusals: seldom.refusals };

// At a request it is tried at once, and once.
both.install(stranger);
both.exporter.renewCertificates();
await until('it is refused again', () => !both.exporter.stats().lastReloadSuccessful);
both.exporter.renewCertificates();
await until('and that is told as well', () => both.refused.length > 2);
const asked = {
	users: users(seldom),
	told: both.refused.length,
	refusals: seldom.refusals - taken.refusals,
};
await both.exporter.stop();

// Nobody is to be told of what a stopped exporter does not use.
const late: string[] = [];
both.exporter.on('warning', ({ code }) => late.push(code));
both.install({ cert: 'no certificate', key: 'no key' });
both.exporter.renewCertificates();
await sleep(200);
await Promise.all([often, seldom, lenient].map((collector) => collector.ended()));
report({ again, whileRefused, taken, asked, late });
