/**
 * Pods that talk to each other, directly and through a Service, while the exporters are told of other Pods and of wrong
 * ones. The Pods are addresses of the loopback interface, the Service a rule of nft.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { Collector, FlowExporter, type FlowRecord, OptionError, type PodInput } from '../../lib/index.ts';
import { flushKernel, run, seen, track, udpEcho, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

const WEB = ['10.10.0.5', 'fd00:10::5'];
const CART = ['10.10.1.7', 'fd00:10::7'];
const [WEB4 = '', WEB6 = ''] = WEB;
const [CART4 = '', CART6 = ''] = CART;
const SERVICE = '10.96.0.10';
const STRANGER = '10.99.0.1';

track();
for (const address of [...WEB, ...CART, STRANGER]) {
	const [length, flags] = address.includes(':') ? [128, ['nodad']] : [32, []];
	run('ip', 'address', 'add', `${address}/${length}`, 'dev', 'lo', ...flags);
}
run('ip', 'route', 'add', `${SERVICE}/32`, 'dev', 'lo');
const [echo4, echo6] = await Promise.all([udpEcho(CART4), udpEcho(CART6)]);
run('nft', 'add table ip service');
run('nft', 'add chain ip service out { type nat hook output priority -100; }');
run('nft', `add rule ip service out ip daddr ${SERVICE} udp dport 53 dnat to ${CART4}:${echo4.port}`);

const first: PodInput[] = [
	{ name: 'web-7d4b9c6f5d-x2x9k', namespace: 'shop', node: 'node-1', addresses: WEB },
	{ name: 'cart-0', namespace: 'shop', node: 'node-2', addresses: ['10.10.1.7', '::ffff:10.10.1.8', CART6] },
	{ name: 'pending', namespace: 'shop', addresses: [] },
];

/** An exporter with a collector of its own. */
async function start(options: ConstructorParameters<typeof FlowExporter>[0]) {
	const collector = new Collector({ listen: ['tcp://127.0.0.1:0'] });
	await collector.start();
	const records: FlowRecord[] = [];
	const reading = (async () => {
		for await (const batch of collector) records.push(...batch);
	})();
	const exporter = new FlowExporter({
		collectors: collector.addresses,
		protocols: ['udp'],
		pollInterval: 100,
		activeTimeout: '10m',
		idleTimeout: '10m',
		...options,
	});
	await exporter.start();
	return {
		exporter,
		records,
		async stop() {
			await exporter.stop();
			await until('the session is read out', () => collector.stats().sessions === 0);
			await collector.stop();
			await reading;
		},
	};
}

/** One datagram and its answer, as a connection of its own. Gives the port that it came from. */
async function talk(from: string, to: string, port: number): Promise<number> {
	const socket = createSocket(from.includes(':') ? 'udp6' : 'udp4').bind(0, from);
	await once(socket, 'listening');
	socket.send('hello', port, to);
	await once(socket, 'message');
	const own = socket.address().port;
	socket.close();
	return own;
}

/** What a call throws, or "nothing". */
function thrown(call: () => void): string {
	try {
		call();
		return 'nothing';
	} catch (error) {
		return error instanceof OptionError ? `${error.code} ${error.message}` : String(error);
	}
}

const standard = await start({ pods: first });
const antrea = await start({ profile: 'antrea', zones: [0] });
antrea.exporter.setPods(first);
const unnamed = await start({});
/** Knows no Pods: a gateway. */
const gateway = await start({
	networks: [{ name: 'strangers', prefixes: ['10.99.0.0/16'] }],
	nodeName: 'gw-1',
	clusterName: 'blue',
});
const dns = { name: 'cart', namespace: 'shop', portName: 'dns', addresses: [SERVICE], port: 53 };
gateway.exporter.setServices([{ ...dns, protocol: 'UDP' }]);

const ports: Record<string, number> = {};
ports['service'] = await talk(WEB4, SERVICE, 53);
ports['ipv6'] = await talk(WEB6, CART6, echo6.port);
ports['stranger'] = await talk(STRANGER, CART4, echo4.port);
for (const { exporter } of [standard, antrea, gateway]) await seen(exporter);

const set = (pods: unknown) => thrown(() => standard.exporter.setPods(pods as PodInput[]));
const [web, cart] = first;
const errors = {
	address: set([web, { name: 'a', namespace: 'b', addresses: ['10.0.0.1', '10.0.0.256'] }]),
	zoneIndex: set([{ name: 'a', namespace: 'b', addresses: ['fe80::1%lo'] }]),
	shared: set([web, cart, { name: 'a', namespace: 'b', addresses: ['10.0.0.1', 'FD00:10:0::7'] }]),
	mapped: set([web, cart, { name: 'a', namespace: 'b', addresses: ['10.10.1.8'] }]),
	noName: set([{ name: '', namespace: 'b', addresses: [] }]),
	longName: set([{ name: 'é'.repeat(127), namespace: 'b', addresses: [] }]),
	unknownKey: set([{ name: 'a', namespace: 'b', addresses: [], ip: '10.0.0.1' }]),
	noList: set(undefined),
	unconfigured: thrown(() => unnamed.exporter.setPods(first)),
	unselected: thrown(() => new FlowExporter({ fields: ['mark'] }).setPods(first)),
};
// None of them has changed anything.
ports['afterErrors'] = await talk(WEB4, CART4, echo4.port);
for (const { exporter } of [standard, antrea]) await seen(exporter);

const second: PodInput[] = [{ name: 'late', namespace: 'batch', addresses: [WEB4, STRANGER] }];
for (const { exporter } of [standard, antrea]) exporter.setPods(second);
ports['replaced'] = await talk(WEB4, CART4, echo4.port);
for (const { exporter } of [standard, antrea]) await seen(exporter);
const names = standard.exporter.stats().table?.names;
// The connection to the Service, whose source was unknown; the stranger keeps its name.
gateway.exporter.setNetworks([{ name: 'pods', prefixes: ['10.10.0.0/16', '10.99.0.0/16'] }]);
await seen(gateway.exporter);

// What was set outlives a stop, and connections that are there at the start are named like others.
await antrea.exporter.stop();
await until('they have arrived', () => antrea.records.length >= 5);
const stopped = antrea.records.splice(0);
await antrea.exporter.start();

flushKernel();
const exporters = [standard, antrea, unnamed, gateway];
for (const { exporter } of exporters) await seen(exporter);
for (const { stop } of exporters) await stop();
echo4.close();
echo6.close();

const NAMES = ['source', 'destination'].flatMap((end) =>
	['PodName', 'PodNamespace', 'NodeName'].map((name) => end + name),
);
const GATEWAY = [
	'sourcePodName',
	'destinationPodName',
	'destinationServicePortName',
	'observationDomainName',
	'clusterId',
];
/** The names in the record of each connection. */
function namesOf(records: FlowRecord[]): Record<string, unknown[]> {
	return Object.fromEntries(
		Object.entries(ports).map(([name, port]) => {
			const found = records.filter((record) => record['sourceTransportPort'] === port);
			return [name, found.flatMap((record) => NAMES.map((element) => record[element] ?? null))];
		}),
	);
}
report({
	standard: namesOf(standard.records),
	antrea: namesOf(antrea.records),
	gateway: ['service', 'stranger'].map((name) => {
		const record = gateway.records.find((it) => it['sourceTransportPort'] === ports[name]);
		return GATEWAY.map((element) => record?.[element] ?? null);
	}),
	unnamed: unnamed.records.map((record) => NAMES.filter((name) => name in record)),
	antreaStopped: namesOf(stopped),
	names,
	errors,
});
