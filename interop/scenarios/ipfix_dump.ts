/** `ipfix_dump.ts tcp|tls|udp|file`: the exporter's records in libfixbuf's ipfixDump, over the network behind socat. */
import { join } from 'node:path';
import { readBlocks } from '../readers/ipfix_dump.ts';
import { flowOf, isFlow } from '../readers/named.ts';
import { type Exported, exportTraffic, PORT, TLS_PORT } from '../support/agent.ts';
import { makeCertificates } from '../support/certificates.ts';
import { datagramsRead, Program } from '../support/program.ts';
import { finish, temporaryFolder } from '../support/report.ts';
import { prepare } from '../support/traffic.ts';

const READER = ['ipfixDump', '--rfc5610', '--data'];

/** socat in front of the reader; it ends with the session, and the reader after it. */
async function behind(
	address: string,
	protocol: 'tcp' | 'udp',
	port: number,
	flags: string[],
): Promise<{ exported: Exported; reader: Program }> {
	const socat = new Program('socat', ['-u', address, 'STDOUT'], { piped: true });
	const reader = new Program('timeout', ['60', ...READER], { from: socat });
	await socat.listens(protocol, port);
	const exported = await exportTraffic(...flags);
	if (protocol === 'udp') await datagramsRead(port);
	await socat.ended(protocol === 'udp' ? 'SIGTERM' : undefined);
	return { exported, reader };
}

async function collect(): Promise<{ exported: Exported; reader: Program }> {
	switch (process.argv[2]) {
		case 'tcp':
			return behind(`TCP-LISTEN:${PORT},bind=127.0.0.1,reuseaddr`, 'tcp', PORT, [
				'--collector',
				`tcp://127.0.0.1:${PORT}`,
			]);
		case 'udp':
			return behind(`UDP-RECV:${PORT},bind=127.0.0.1`, 'udp', PORT, [
				'--collector',
				`udp://127.0.0.1:${PORT}`,
			]);
		case 'tls': {
			const { ca, collector, exporter } = await makeCertificates(temporaryFolder());
			const credentials = `cert=${collector.cert},key=${collector.key},cafile=${ca},verify=1`;
			return behind(`OPENSSL-LISTEN:${TLS_PORT},bind=127.0.0.1,reuseaddr,${credentials}`, 'tcp', TLS_PORT, [
				...['--collector', `tls://127.0.0.1:${TLS_PORT}`, '--tls-server-name', 'collector.example'],
				...['--tls-ca', ca, '--tls-cert', exporter.cert, '--tls-key', exporter.key],
			]);
		}
		default: {
			const file = join(temporaryFolder(), 'flows.ipfix');
			const exported = await exportTraffic('--collector', `file:${file}`);
			return { exported, reader: new Program('timeout', ['60', ...READER, '--in', file]) };
		}
	}
}

prepare();
const { exported, reader } = await collect();
await reader.succeeded();
const blocks = readBlocks(reader.stdout);
finish({
	...exported,
	records: blocks.filter(isFlow).map(flowOf),
	others: blocks.filter((block) => !isFlow(block)),
	complaints: [...exported.complaints, ...reader.stderr.split('\n').filter((line) => line !== '')],
});
