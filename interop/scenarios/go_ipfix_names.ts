/**
 * `go_ipfix_names.ts PROGRAM`: a Pod's connection to a Service, let out by one policy and in by another, in the antrea profile. The facts
 * are the kernel's and the lists'; PROGRAM builds the record of them with go-ipfix.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { run, tcpEcho, track } from '../../__test__/support/kernel.ts';
import { connections } from '../support/kernel.ts';
import { conntrackIpfix } from '../support/program.ts';
import { finish, temporaryFolder } from '../support/report.ts';

const [program = ''] = process.argv.slice(2);
const [WEB, CART, SERVICE] = ['10.10.0.5', '10.10.1.7', '10.96.0.10'];

track();
for (const address of [WEB, CART]) run('ip', 'address', 'add', `${address}/32`, 'dev', 'lo');
run('ip', 'route', 'add', `${SERVICE}/32`, 'dev', 'lo');
const echo = await tcpEcho(CART);
run('nft', 'add table ip t');
run('nft', 'add chain ip t zones { type filter hook output priority raw; }');
run('nft', 'add rule ip t zones ct zone set 65520');
// Bits 0 and 2 are ingress rule 5, bit 33 is egress rule 2.
run('nft', 'add chain ip t labels { type filter hook output priority mangle; }');
run(
	'nft',
	`add rule ip t labels ip daddr ${SERVICE} ct mark set ct mark or 0x10 ct label set 0 ct label set 2 ct label set 33`,
);
run('nft', 'add chain ip t services { type nat hook output priority -100; }');
run('nft', `add rule ip t services ip daddr ${SERVICE} tcp dport 80 dnat to ${CART}:${echo.port}`);

const folder = temporaryFolder();
const write = (name: string, list: unknown) => {
	writeFileSync(join(folder, name), JSON.stringify(list));
	return join(folder, name);
};
const pods = [
	{ name: 'web-0', namespace: 'shop', node: 'k1', addresses: [WEB] },
	{ name: 'cart-0', namespace: 'shop', node: 'k2', addresses: [CART] },
];
const services = [
	{ name: 'cart', namespace: 'shop', portName: 'http', addresses: [SERVICE], port: 80, protocol: 'TCP' },
];
const rules = [
	{ number: 5, name: 'cart-in', namespace: 'shop', type: 'K8sNetworkPolicy', rule: 'from-web' },
	{ number: 2, name: 'all-out', type: 'AntreaClusterNetworkPolicy', rule: 'all', action: 'allow' },
];
const records = join(folder, 'records');
const agent = conntrackIpfix(
	'run',
	...[
		'--profile',
		'antrea',
		'--collector',
		`file:${records}`,
		'--poll-interval',
		'250ms',
		'--active-timeout',
		'10m',
	],
	...['--idle-timeout', '10m', '--log-format', 'json', '--log-level', 'debug'],
	...['--pods', write('pods.json', pods), '--services', write('services.json', services)],
	...['--policy-rules', write('rules.json', rules), '--pod-network', '10.10.0.0/16'],
);
await agent.printed(/"msg":"started"/);
const socket = connect({ host: SERVICE, port: 80, localAddress: WEB });
socket.resume();
socket.end(Buffer.alloc(5_000, 1));
await once(socket, 'close');
await agent.printed(/"msg":"exported?"/);
const [connection] = connections().filter(({ destination }) => destination === SERVICE);
const [, start = ''] =
	/\[start=([^\]]+)\]/.exec(run('conntrack', '-L', '-d', SERVICE, '-o', 'ktimestamp')) ?? [];
await agent.succeeded('SIGTERM');
echo.server.close();
if (connection === undefined) throw new Error('the kernel has no such connection');

const { sourcePort, packets, octets, reversePackets, reverseOctets, translated } = connection;
const set = dataSet(readFileSync(records));
const now = Math.floor(Date.now() / 1_000);
const began = Date.parse(`${start} UTC`) / 1_000;
/** When the agent saw the last packets only the agent can say: the second date of the record. */
const ended = set.readUInt32BE(8);
const facts = {
	flowStartSeconds: began,
	flowEndSeconds: ended,
	flowEndReason: 3,
	sourceIPv4Address: WEB,
	sourceTransportPort: sourcePort,
	destinationIPv4Address: translated?.destination,
	destinationTransportPort: translated?.destinationPort,
	protocolIdentifier: 6,
	packetTotalCount: packets,
	octetTotalCount: octets,
	packetDeltaCount: packets,
	octetDeltaCount: octets,
	reversePacketTotalCount: reversePackets,
	reverseOctetTotalCount: reverseOctets,
	reversePacketDeltaCount: reversePackets,
	reverseOctetDeltaCount: reverseOctets,
	sourcePodName: 'web-0',
	sourcePodNamespace: 'shop',
	sourceNodeName: 'k1',
	destinationPodName: 'cart-0',
	destinationPodNamespace: 'shop',
	destinationNodeName: 'k2',
	destinationServicePort: 80,
	destinationServicePortName: 'shop/cart:http',
	destinationServiceIPv4: SERVICE,
	destinationClusterIPv4: SERVICE,
	ingressNetworkPolicyName: 'cart-in',
	ingressNetworkPolicyNamespace: 'shop',
	ingressNetworkPolicyType: 1,
	ingressNetworkPolicyRuleName: 'from-web',
	ingressNetworkPolicyRuleAction: 1,
	egressNetworkPolicyName: 'all-out',
	egressNetworkPolicyType: 3,
	egressNetworkPolicyRuleName: 'all',
	egressNetworkPolicyRuleAction: 1,
	tcpState: 'TIME_WAIT',
	flowType: 2,
};
const built = spawnSync(program, { input: JSON.stringify(facts), encoding: 'utf8' });
if (built.status !== 0) throw new Error(built.stderr);
finish({
	exported: set.toString('hex'),
	built: built.stdout.trim(),
	endIsWithin: ended >= began && ended <= now + 1,
	counts: [packets, octets, reversePackets, reverseOctets],
});

/** The one data set in a file of messages (RFC 7011, section 3). */
function dataSet(file: Buffer): Buffer {
	const sets: Buffer[] = [];
	for (let message = 0; message < file.length; message += file.readUInt16BE(message + 2)) {
		const end = message + file.readUInt16BE(message + 2);
		for (let at = message + 16; at < end; at += file.readUInt16BE(at + 2)) {
			if (file.readUInt16BE(at) >= 256) sets.push(file.subarray(at, at + file.readUInt16BE(at + 2)));
		}
	}
	const [only, ...more] = sets;
	if (only === undefined || more.length > 0) throw new Error(`${sets.length} data sets instead of one`);
	return only;
}
