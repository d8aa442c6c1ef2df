/**
 * What a UDP session learns of its path: how large a datagram it takes, and, with templates in between, which of its
 * datagrams were refused. The collector of the second part is in a namespace of its own behind a veth pair.
 */
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { FlowExporter } from '../../lib/index.ts';
import { account } from '../support/account.ts';
import {
	COLLECTOR_PORT,
	flushKernel,
	kernelFlows,
	run,
	seen,
	sleep,
	track,
	unansweredFlows,
	until,
} from '../support/kernel.ts';
import { ReadingCollector } from '../support/reading_collector.ts';
import { report } from '../support/report.ts';

track();
const options = { pollInterval: 100, activeTimeout: 100, idleTimeout: 100, protocols: ['udp'] };

/** Fragments that this namespace's kernel has made. */
function fragments(): number {
	const [names = '', values = ''] = readFileSync('/proc/net/snmp', 'utf8')
		.split('\n')
		.filter((line) => line.startsWith('Ip:'));
	const ipv6 = /^Ip6FragCreates\s+(\d+)/m.exec(readFileSync('/proc/net/snmp6', 'utf8'))?.[1];
	return Number(values.split(' ')[names.split(' ').indexOf('FragCreates')]) + Number(ipv6);
}
const mtu = (octets: number) => run('ip', 'link', 'set', 'lo', 'mtu', String(octets));

/** `steps`: to which the device's MTU is lowered, one after the other. */
async function follow(address: '127.0.0.1' | '::1', steps: number[]) {
	mtu(1_500);
	const collector = await new ReadingCollector('udp', address).listen();
	const table = ['inet', address === '::1' ? 'lengths6' : 'lengths4'];
	run('nft', 'add', 'table', ...table);
	run('nft', 'add', 'chain', ...table, 'in', '{ type filter hook input priority 0; }');
	run('nft', 'add', 'counter', ...table, 'large');
	const large = `udp dport ${collector.port} meta length 1401-1500 counter name large`;
	run('nft', 'add', 'rule', ...table, 'in', large);
	const largeOnes = () => Number(/packets (\d+)/.exec(run('nft', 'list', 'counter', ...table, 'large'))?.[1]);

	const exporter = new FlowExporter({ ...options, collectors: [collector.url] });
	const breaks: string[] = [];
	exporter.on('disconnect', ({ reason }) => breaks.push(reason));
	await exporter.start();
	await until('it is open', () => exporter.stats().collectors[0]?.state === 'open');
	async function sendUntil(what: string, holds: () => boolean): Promise<void> {
		for (let round = 0; !holds(); round += 1) {
			if (round > 300) throw new Error(`sent in vain until ${what}`);
			// Few: nobody reads the collector's socket while a program of the system runs.
			await unansweredFlows('127.0.0.1', 40, 10, '127.0.0.1');
			await sleep(100);
		}
	}
	await sendUntil('a large one came', () => largeOnes() > 0);
	let before = 0;
	for (const [index, octets] of steps.entries()) {
		mtu(octets);
		if (index === 0) before = largeOnes();
		await sendUntil('it has moved', () => exporter.stats().collectors[0]?.connections === index + 2);
	}
	const tooLarge = largeOnes() - before;
	const lowered = largeOnes();
	mtu(1_500);
	await sendUntil('a large one came again', () => largeOnes() > lowered);
	await seen(exporter);
	const kernel = kernelFlows(collector.port).filter(({ key }) => key.startsWith('udp'));
	await until('all is exported', () => exporter.stats().exported.records >= kernel.length);
	await exporter.stop();
	await until('all has arrived', () => collector.records.length >= kernel.length);
	flushKernel();
	return {
		tooLarge,
		account: account(kernel, collector.records),
		losses: exporter.stats().losses,
		breaks: breaks.filter((reason) => reason !== 'closed'),
	};
}
// IPv6 takes no MTU below 1,280.
const sized = [await follow('::1', [1_400, 1_300]), await follow('127.0.0.1', [1_000, 600])];
const fragmented = fragments();

// A path on which a refusal comes late: the datagrams wait for the neighbour's address, and go together.
const other = spawn('unshare', ['-n', 'sleep', '600'], { stdio: 'ignore' });
const own = readlinkSync('/proc/self/ns/net');
await until('it has its namespace', () => readlinkSync(`/proc/${other.pid}/ns/net`) !== own);
const there = (...command: string[]) => run('nsenter', '-n', '-t', String(other.pid), ...command);
run('ip', 'link', 'add', 'near', 'type', 'veth', 'peer', 'name', 'far', 'netns', String(other.pid));
run('ip', 'addr', 'add', '192.0.2.1/24', 'dev', 'near');
run('ip', 'link', 'set', 'near', 'up');
there('ip', 'addr', 'add', '192.0.2.2/24', 'dev', 'far');
there('ip', 'link', 'set', 'far', 'up');
there('nft', 'add table inet quiet');
there('nft', 'add chain inet quiet in { type filter hook input priority 0; }');
there('nft', `add rule inet quiet in udp dport ${COLLECTOR_PORT} drop`);
there('sysctl', '-qw', 'net.ipv4.conf.far.arp_ignore=8', 'net.ipv4.icmp_ratelimit=0');
writeFileSync('/proc/sys/net/ipv4/neigh/near/mcast_solicit', '100');
const address = /link\/ether (\S+)/.exec(there('ip', 'link', 'show', 'far'))?.[1] ?? '';
const neighbour = () =>
	run('ip', 'neigh', 'replace', '192.0.2.2', 'lladdr', address, 'nud', 'permanent', 'dev', 'near');
neighbour();
const refusing = new FlowExporter({
	...options,
	collectors: [{ url: `udp://192.0.2.2:${COLLECTOR_PORT}`, templateRefreshPackets: 1, options: false }],
});
const reasons: string[] = [];
refusing.on('disconnect', ({ reason }) => reasons.push(reason));
await refusing.start();
await until('it is open', () => refusing.stats().collectors[0]?.state === 'open');
run('ip', 'neigh', 'del', '192.0.2.2', 'dev', 'near');
there('nft', 'flush', 'chain', 'inet', 'quiet', 'in');
// Two datagrams with records, each with templates after it.
await unansweredFlows('127.0.0.1', 10, 10, '127.0.0.1');
await until('they are on their way', () => refusing.stats().exported.records >= 10);
const socket = createSocket('udp4').bind(0, '127.0.0.1');
await once(socket, 'listening');
await new Promise<void>((resolve) => socket.send(Buffer.alloc(10), 11, '127.0.0.1', () => resolve()));
socket.close();
const all = () => kernelFlows(COLLECTOR_PORT).filter(({ key }) => key.startsWith('udp'));
await until('the next ones, too', () => refusing.stats().exported.records >= 11);
neighbour();
await until('it is refused', () => reasons.length > 0);
const refused = {
	kernel: sumOf(all()),
	reason: reasons[0],
	losses: refusing.stats().losses,
};
await refusing.stop();
other.kill();
report({ sized, fragmented, refused });

function sumOf(flows: ReturnType<typeof kernelFlows>) {
	return {
		records: flows.length,
		packets: flows.reduce((sum, flow) => sum + flow.packets, 0),
		octets: flows.reduce((sum, flow) => sum + flow.octets, 0),
	};
}
