/** The kernel's table by `conntrack` and by us, whole and filtered, and by the command. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Connection, type ConnectionFilters, dump } from '../../lib/index.ts';
import { kernelFlows, tcpEcho, tcpExchange, track, udpEcho, udpExchange } from '../support/kernel.ts';
import { keyOf } from '../support/records.ts';
import { report } from '../support/report.ts';

track();
for (const address of ['127.0.0.1', '::1']) {
	const tcp = await tcpEcho(address);
	const udp = await udpEcho(address);
	await tcpExchange(address, tcp.port, 1_000);
	await udpExchange(address, udp.port, 3, 100);
}
const of = async (filters: ConnectionFilters) => {
	const connections: Connection[] = [];
	for await (const batch of dump(filters)) connections.push(...batch);
	return connections.map((connection) => ({
		key: keyOf(connection),
		octets: connection['octetTotalCount'],
		reverseOctets: connection['reverseOctetTotalCount'],
	}));
};
const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const command = (...args: string[]) =>
	execFileSync(process.execPath, [MAIN, 'dump', ...args], { encoding: 'utf8' });
const names = new Set<string>();
for await (const batch of dump())
	for (const connection of batch) for (const name in connection) names.add(name);
report({
	names: [...names],
	kernel: kernelFlows(),
	all: await of({}),
	ipv6: await of({ families: ['ipv6'] }),
	ipv6Twice: await of({ families: ['ipv6', 'ipv6'] }),
	tcp: await of({ protocols: ['tcp'] }),
	excluded: await of({ exclude: ['127.0.0.0/8'] }),
	otherZone: await of({ zones: [5] }),
	lines: command('--family', 'ipv4', '--protocol', 'udp')
		.trim()
		.split('\n')
		.map((line) => keyOf(JSON.parse(line))),
	table: command('--format', 'table').trim().split('\n'),
});
