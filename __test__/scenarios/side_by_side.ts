/** A name of which the first address swallows every packet, and an attempt at one address that nobody waits out. */
import { FlowExporter } from '../../lib/index.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { FaultyCollector } from '../support/faulty_collector.ts';
import { setHosts } from '../support/hosts.ts';
import { run, track, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

track();
setHosts('127.0.0.9 two.example', '127.0.0.1 two.example');
run('nft', 'add table inet swallow');
run('nft', 'add chain inet swallow in { type filter hook input priority 0; }');
run('nft', 'add rule inet swallow in ip daddr 127.0.0.9 drop');
const authority = makeAuthority('side');
const server = makeCertificate(authority, 'two.example');

const outcome = [];
for (const secure of [undefined, { cert: server.cert, key: server.key }]) {
	const collector = await new FaultyCollector([], secure).listen();
	const exporter = new FlowExporter({
		collectors: [
			{
				url: collector.url.replace('127.0.0.1', 'two.example'),
				// Longer than any test may take.
				connectTimeout: '1h',
				...(secure && { ca: authority.cert }),
			},
		],
	});
	await exporter.start();
	await until('it is open', () => exporter.stats().collectors[0]?.state === 'open');
	await until('the collector has it', () => collector.sessions.length === 1);
	await exporter.stop();
	await collector.ended();
	outcome.push(run('ss', '-Htn', 'state', 'syn-sent').trim());
}
report(outcome);
