/** `go_ipfix.ts PROGRAM tcp|tls|udp`: the antrea profile in go-ipfix's collecting process. */
import { antreaKeyOf, flowOf, readLines } from '../readers/go_ipfix.ts';
import { exportTraffic, PORT } from '../support/agent.ts';
import { makeCertificates } from '../support/certificates.ts';
import { datagramsRead, Program } from '../support/program.ts';
import { finish, temporaryFolder } from '../support/report.ts';
import { prepare } from '../support/traffic.ts';

const [program = '', transport = ''] = process.argv.slice(2);
prepare({ ip: 65_520, ip6: 65_510 });
const protocol = transport === 'udp' ? 'udp' : 'tcp';
const listen = ['-protocol', protocol, '-listen', `127.0.0.1:${PORT}`];
const flags = ['--profile', 'antrea', '--collector', `${transport}://127.0.0.1:${PORT}`];
if (transport === 'tls') {
	const { ca, collector, exporter } = await makeCertificates(temporaryFolder());
	listen.push('-ca', ca, '-cert', collector.cert, '-key', collector.key);
	flags.push('--tls-ca', ca, '--tls-cert', exporter.cert, '--tls-key', exporter.key);
	flags.push('--tls-server-name', 'collector.example');
}
const collector = await new Program(program, listen).listens(protocol, PORT);
await collector.printed(/"listening"/);
const exported = await exportTraffic(...flags);
if (protocol === 'udp') await datagramsRead(PORT);
await collector.succeeded('SIGTERM');
const reading = readLines(collector.stdout);
finish({
	complaints: exported.complaints,
	kernel: exported.kernel.map((connection) => ({ ...connection, key: antreaKeyOf(connection) })),
	records: reading.records.map(({ elements }) => flowOf(elements)),
	reading,
	// klog: E is an error, W a warning.
	refused: collector.stderr.split('\n').filter((line) => /^[EWF]\d/.test(line)),
});
