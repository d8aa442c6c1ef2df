/**
 * `peers.ts softflowd-udp|softflowd-tcp|nfprobe`: another exporter measures the scenario's traffic and sends it to
 * `conntrack-ipfix collect`; a reader that is not ours reads the same.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { flowOf, isFlow, readJson } from '../readers/named.ts';
import { readRows } from '../readers/nfacctd.ts';
import { readCapture } from '../readers/tshark.ts';
import { PORT } from '../support/agent.ts';
import { Capture } from '../support/capture.ts';
import { connections } from '../support/kernel.ts';
import { conntrackIpfix, datagramsRead, Program } from '../support/program.ts';
import { finish, type ReadRecord, temporaryFolder } from '../support/report.ts';
import { prepare, traffic } from '../support/traffic.ts';

const NFACCTD_PORT = PORT + 10;
const folder = temporaryFolder();
const path = (name: string) => join(folder, name);

prepare();
const packets = await Capture.start('ip or ip6');
await traffic();
const kernel = connections();
await packets.end();

/** softflowd reads the packets, tshark what it sends. `-b`: both directions in one record, as RFC 5103 has it. */
async function softflowd(protocol: 'udp' | 'tcp'): Promise<[Program, ReadRecord[], number]> {
	const url = `${protocol}://127.0.0.1:${PORT}`;
	const collector = await conntrackIpfix('collect', '--listen', url).listens(protocol, PORT);
	const session = await Capture.start(`port ${PORT}`);
	const exporter = new Program('softflowd', [
		...['-r', packets.file, '-n', `127.0.0.1:${PORT}`, '-v', '10', '-P', protocol, '-A', 'milli'],
		...['-d', '-c', 'none', '-p', path('softflowd.pid'), ...(protocol === 'tcp' ? ['-b'] : [])],
	]);
	await exporter.succeeded();
	await session.end();
	const { records, messages } = await readCapture(session.file, protocol, PORT);
	return [collector, records, missingBy(messages)];
}

/** Records that never came, by the messages' sequence numbers (RFC 7011, section 3.1): softflowd counts each message in its own. */
function missingBy(messages: ReadonlyArray<{ sequence: number; records: number }>): number {
	let missing = 0;
	let next: number | undefined;
	for (const { sequence, records } of messages) {
		if (next !== undefined && sequence < next) continue;
		missing += sequence - (next ?? sequence);
		next = sequence + records;
	}
	return missing;
}

/** pmacct's nfprobe sends the same to us and to its own reader. */
async function nfprobe(): Promise<[Program, ReadRecord[], number]> {
	const collector = await conntrackIpfix('collect', '--listen', `udp://127.0.0.1:${PORT}`).listens(
		'udp',
		PORT,
	);
	const rows = path('rows.json');
	writeFileSync(
		path('nfacctd.conf'),
		`daemonize: false
nfacctd_ip: 127.0.0.1
nfacctd_port: ${NFACCTD_PORT}
plugins: print[flows]
aggregate[flows]: src_host, dst_host, src_port, dst_port, proto
print_output[flows]: json
print_output_file[flows]: ${rows}
print_output_file_append[flows]: true
print_refresh_time[flows]: 1
`,
	);
	const nfacctd = await new Program('nfacctd', ['-f', path('nfacctd.conf')]).listens('udp', NFACCTD_PORT);
	await nfacctd.printed(/JSON: setting object handlers/);
	const plugin = (
		name: string,
		port: number,
	) => `aggregate[${name}]: src_host, dst_host, src_port, dst_port, proto
nfprobe_receiver[${name}]: 127.0.0.1:${port}
nfprobe_version[${name}]: 10
`;
	writeFileSync(
		path('pmacctd.conf'),
		`daemonize: false
pcap_savefile: ${packets.file}
plugins: nfprobe[ours], nfprobe[theirs]
${plugin('ours', PORT)}${plugin('theirs', NFACCTD_PORT)}`,
	);
	const pmacctd = new Program('pmacctd', ['-f', path('pmacctd.conf')]);
	// At the end of the file its plugins send what they have; whether it then ends with 0 or 1 is a race of its own.
	await pmacctd.ended();
	const done = pmacctd.stderr.match(/nfprobe \): Shutting down on user request/g)?.length;
	if (done !== 2) throw new Error(`pmacctd failed:\n${pmacctd.stderr}`);
	await datagramsRead(NFACCTD_PORT);
	await nfacctd.ended('SIGINT');
	return [collector, readRows(readFileSync(rows, 'utf8')), 0];
}

const peer = process.argv[2];
const [collector, theirs, missing] = await (peer === 'nfprobe'
	? nfprobe()
	: softflowd(peer === 'softflowd-tcp' ? 'tcp' : 'udp'));
const ours = () => readJson(collector.stdout).filter(isFlow);
await collector.until(`printed ${theirs.length} records`, () => ours().length >= theirs.length);
await collector.succeeded('SIGTERM');
// A transfer that fills windows has bare window updates that conntrack leaves uncounted (seen on Linux 6.18).
const FILLS_WINDOWS = 100_000;
finish({
	// Translated packets look different on their way out and back: no flow of these exporters is that connection.
	kernel: kernel.filter(
		({ translated, sourcePort, octets }) => translated === null && sourcePort !== 0 && octets < FILLS_WINDOWS,
	),
	records: ours().map(flowOf),
	theirs,
	missing,
	complaints: collector.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('listening on ')),
});
