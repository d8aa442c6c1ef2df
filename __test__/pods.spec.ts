import test from 'ava';
import { OptionError } from '../lib/errors.ts';
import { FlowExporter } from '../lib/exporter/exporter.ts';
import { resolveOptions } from '../lib/options/options.ts';

const resolved = (origin: 'javascript' | 'text') => (values: Record<string, unknown>) =>
	resolveOptions([{ values, nameOf: (option) => option }], origin);
const javascript = resolved('javascript');
const text = resolved('text');

test('Pods become what the core takes, each address in one way of writing it', (t) => {
	const { pods } = text({
		pods: [
			{
				name: 'web-0',
				namespace: 'shop',
				node: 'node-1',
				addresses: ['10.0.0.1', 'FD00:0::0:5', '::ffff:10.0.0.2'],
			},
			{ name: 'pending', namespace: '', addresses: [] },
			{ name: 'six', namespace: '', addresses: ['::1', '1:0:0:2::', '::ffff:ff', '::ffff:0:1'] },
			{
				name: 'groups',
				namespace: '',
				addresses: ['1:2:3::4:5:6', '1:2:3::4:5:6:7', '1:2::0:3', '1::02', 'A::1'],
			},
		],
	});
	t.deepEqual(pods, [
		{ name: 'web-0', namespace: 'shop', node: 'node-1', addresses: ['10.0.0.1', 'fd00::5', '10.0.0.2'] },
		{ name: 'pending', namespace: '', node: '', addresses: [] },
		{ name: 'six', namespace: '', node: '', addresses: ['::1', '1:0:0:2::', '::ffff:ff', '0.0.0.1'] },
		{
			name: 'groups',
			namespace: '',
			node: '',
			// RFC 5952, section 4.2.2: :: does not stand for one group alone.
			addresses: ['1:2:3::4:5:6', '1:2:3:0:4:5:6:7', '1:2::3', '1::2', 'a::1'],
		},
	]);
});

test('Pods are bounded, and a Pod may say an address twice', (t) => {
	const pod = (name: string, addresses: string[]) => ({ name, namespace: '', addresses });
	const many = (count: number) =>
		Array.from({ length: count }, (_, number) => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`);
	t.notThrows(() => javascript({ pods: [pod('a', many(1_000_000))] }));
	const error = t.throws(() => javascript({ pods: [pod('a', many(1_000_000)), pod('b', ['fd00::1'])] }), {
		instanceOf: OptionError,
	});
	t.is(
		error?.message,
		'pods: got "more than 1000000 addresses", expected at most 1000000 addresses: give only the Pods that this ' +
			"node's connections meet",
	);
	t.notThrows(() => javascript({ pods: [pod('a', ['10.0.0.1', '10.0.0.1'])] }));
	for (const wrong of [
		'1:2:3:4::5:6:7:8',
		'1::2::3',
		'1:::2',
		':1::2',
		'1::2:',
		'1::g',
		'12345::1',
		'1.2.3',
		'',
	]) {
		t.throws(
			() => javascript({ pods: [pod('a', [wrong])] }),
			{ message: /^pods\[0\]\.addresses\[0\]: got / },
			wrong,
		);
	}
	t.throws(() => javascript({ pods: [pod('a', ['::1']), pod('a', ['0::1'])] }), {
		message:
			/^pods\[1\]\.addresses\[0\]: got "::1", expected an address that no other Pod has: it is that of pods\[0\]/,
	});
});

test('a text that has no octets, and what has no JSON, is refused with its place', (t) => {
	const pod = { name: 'a', namespace: '', addresses: [] };
	const circle: unknown[] = [];
	circle.push(circle);
	const refused = (part: object) =>
		t.throws(() => javascript({ pods: [{ ...pod, ...part }] }), { instanceOf: OptionError })?.message;
	t.is(refused({ name: 'a\ud800' }), 'pods[0].name: got "a\\ud800", expected whole characters');
	t.is(refused({ node: '\udc00' }), 'pods[0].node: got "\\udc00", expected whole characters');
	t.is(refused({ name: 1n }), "pods[0].name: got 1n, expected the Pod's name");
	t.is(refused({ name: circle }), "pods[0].name: got <ref *1> [ [Circular *1] ], expected the Pod's name");
	t.notThrows(() => javascript({ pods: [{ ...pod, name: '\u{1f600}' }] }));
});

test('Pods are set where records have elements for their names', (t) => {
	const set = (options: ConstructorParameters<typeof FlowExporter>[0]) => () =>
		new FlowExporter(options).setPods([{ name: 'a', namespace: '', addresses: ['10.0.0.1'] }]);
	t.notThrows(set({ pods: [] }));
	t.notThrows(set({ profile: 'antrea' }));
	t.notThrows(set({ fields: ['mark', 'destinationPodNamespace'] }));
	t.throws(set({}), { instanceOf: OptionError, message: /^pods: got nothing, .*pods: \[\]/ });
	t.throws(set({ fields: ['mark', 'flowType'] }), {
		instanceOf: OptionError,
		message: /^fields: .*sourcePodName/,
	});
	t.throws(() => javascript({ pods: [], fields: ['mark'] }), {
		instanceOf: OptionError,
		message: /^fields: got \["mark"\], expected one of sourcePodName, /,
	});
});
