import test from 'ava';
import { inNamespace } from './support/namespace.ts';

interface Report {
	/** Of each connection: name, namespace and node of the source, then of the destination. */
	standard: Record<string, unknown[]>;
	antrea: Record<string, unknown[]>;
	gateway: unknown[][];
	unnamed: string[][];
	antreaStopped: Record<string, unknown[]>;
	names: number;
	errors: Record<string, string>;
}

const report = inNamespace<Report>('names');
const WEB = ['web-7d4b9c6f5d-x2x9k', 'shop', 'node-1'];
const CART = ['cart-0', 'shop', 'node-2'];
const LATE = ['late', 'batch', ''];
const NOBODY = ['', '', ''];

test('a connection keeps the names of the Pods that its ends had first, also behind a Service', async (t) => {
	const { standard, antreaStopped, names } = await report;
	const expected = {
		service: [...WEB, ...CART],
		ipv6: [...WEB, ...CART],
		// Unknown at first, and known by the second set.
		stranger: [...LATE, ...CART],
		afterErrors: [...WEB, ...CART],
		replaced: [...LATE, ...NOBODY],
	};
	t.deepEqual(standard, expected);
	t.deepEqual(antreaStopped, expected);
	t.is(names, 4, 'one for each distinct combination');
});

test('Pods that were set are those of the next start, which looks all connections up anew', async (t) => {
	const { antrea } = await report;
	t.deepEqual(antrea, {
		service: [...LATE, ...NOBODY],
		ipv6: [...NOBODY, ...NOBODY],
		stranger: [...LATE, ...NOBODY],
		afterErrors: [...LATE, ...NOBODY],
		replaced: [...LATE, ...NOBODY],
	});
});

test('networks name what is no Pod, and Services what connections go to', async (t) => {
	const { gateway } = await report;
	t.deepEqual(gateway, [
		['pods', 'pods', 'shop/cart:dns', 'gw-1', 'blue'],
		['strangers', 'pods', '', 'gw-1', 'blue'],
	]);
});

test('records of an exporter without Pods have no elements for names', async (t) => {
	const { unnamed } = await report;
	t.deepEqual(unnamed, [[], [], [], [], []]);
});

test('a wrong list of Pods says what, where and what to do, and leaves the former in force', async (t) => {
	const { errors } = await report;
	const fields =
		'one of sourcePodName, sourcePodNamespace, sourceNodeName, destinationPodName, destinationPodNamespace, ' +
		'destinationNodeName among them, because there are Pods to name';
	const apart = "leave out Pods on the host's network and those that have ended";
	const taken = `an address that no other Pod has: it is that of pods[1] too; ${apart}`;
	t.deepEqual(errors, {
		address: 'ERR_OPTION pods[1].addresses[1]: got "10.0.0.256", expected an IPv4 or IPv6 address',
		zoneIndex: 'ERR_OPTION pods[0].addresses[0]: got "fe80::1%lo", expected an IPv4 or IPv6 address',
		shared: `ERR_OPTION pods[2].addresses[1]: got "fd00:10::7", expected ${taken}`,
		mapped: `ERR_OPTION pods[2].addresses[0]: got "10.10.1.8", expected ${taken}`,
		noName: 'ERR_OPTION pods[0].name: got "", expected the Pod\'s name',
		longName: `ERR_OPTION pods[0].name: got "${'é'.repeat(116)}..., expected at most 253 octets`,
		unknownKey: 'ERR_OPTION pods[0].ip: got "10.0.0.1", expected no option of this name',
		noList: 'ERR_OPTION pods: got nothing, expected a list of Pods',
		unconfigured:
			'ERR_OPTION pods: got nothing, expected the option pods, such as pods: [], before setPods(): without it records ' +
			'of the standard profile have no elements for names',
		unselected: `ERR_OPTION fields: got ["mark"], expected ${fields}`,
	});
});

test("the README's example names what is in the table at its start", async (t) => {
	const records = await inNamespace<string[][]>('readme_pods');
	t.deepEqual(records, [['web-7d4b9c6f5d-x2x9k', 'shop']]);
});
