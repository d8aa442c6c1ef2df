import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { OptionError } from '../lib/errors.ts';
import { FlowExporter } from '../lib/exporter/exporter.ts';
import { checkedSet, fileSet } from '../lib/names/sets.ts';
import { NamesFiles } from '../lib/names/watch.ts';
import { resolveOptions } from '../lib/options/options.ts';
import type { ExporterOptions, PodInput } from '../lib/types.ts';
import { temporaryFolder } from './support/folder.ts';

const javascript = (values: Record<string, unknown>) =>
	resolveOptions([{ values, nameOf: (option) => option }], 'javascript');

const POD = { name: 'a', namespace: '', addresses: ['10.0.0.1'] };

test('a list is kept as it was when it was checked', (t) => {
	const pods: PodInput[] = [{ ...POD }];
	const settings = javascript({ pods });
	t.deepEqual(settings.pods, pods);
	const checked = checkedSet('pods', pods);
	pods.push({ name: '', addresses: [] } as unknown as PodInput);
	t.is(checkedSet('pods', pods), checked);
	t.throws(() => checkedSet('pods', [...pods]), { instanceOf: OptionError, message: /^pods\[1\]\.name: / });
});

test('what is wrong with a list says what, where, and what is near', (t) => {
	const refused = (kind: 'pods' | 'services' | 'policyRules' | 'networks', list: unknown) =>
		t.throws(() => javascript({ [kind]: list }), { instanceOf: OptionError })?.message;
	t.is(refused('pods', 7), 'pods: got 7, expected a list of Pods');
	t.is(
		refused('pods', [{ ...POD, name: 'a\ud800' }]),
		'pods[0].name: got "a\\ud800", expected whole characters',
	);
	t.is(refused('pods', [{ ...POD, name: 1n }]), "pods[0].name: got 1n, expected the Pod's name");
	const circle: unknown[] = [];
	circle.push(circle);
	t.is(
		refused('pods', [{ ...POD, name: circle }]),
		"pods[0].name: got <ref *1> [ [Circular *1] ], expected the Pod's name",
	);
	t.is(
		refused('pods', [POD, { ...POD, name: 'b' }]),
		'pods[1].addresses[0]: got "10.0.0.1", expected an address that no other Pod has: it is that of pods[0] too; ' +
			"leave out Pods on the host's network and those that have ended",
	);
	t.is(
		refused('services', [{ ...POD, port: 80, protcol: 'TCP' }]),
		'services[0].protcol: got "TCP", expected no option of this name; did you mean protocol?',
	);
	t.is(
		refused('policyRules', [{ number: 1, name: 'a', type: 'K8sNetworkPolicy', action: 'deny' }]),
		'policyRules[0].action: got "deny", expected one of allow, drop, reject',
	);
	t.is(
		refused('networks', [{ name: 'a', prefixes: ['10.0.0.0/8', '10.0.0.0/33'] }]),
		'networks[0].prefixes[1]: got "10.0.0.0/33", expected a prefix such as 10.0.0.0/8 or fd00::/8',
	);
	t.is(
		refused('pods', [{ ...POD, addresses: Array.from({ length: 1_000_001 }, () => '10.0.0.1') }]),
		'pods: got "more than 1000000 addresses", expected at most 1000000 addresses: give only the Pods that this ' +
			"node's connections meet",
	);
	t.notThrows(() => javascript({ pods: [{ ...POD, name: '\u{1f600}', startTime: new Date(0) }] }));
});

test('names are set where records have elements for them', (t) => {
	const set = (options: ExporterOptions) => () => new FlowExporter(options).setPods([POD]);
	t.notThrows(set({ pods: [] }));
	t.notThrows(set({ podNetworks: ['10.0.0.0/8'] }));
	t.notThrows(set({ networks: [] }));
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
	const services = (options: ExporterOptions) => () => new FlowExporter(options).setServices([]);
	t.notThrows(services({ fields: ['mark', 'destinationServicePortName'] }));
	t.throws(services({}), {
		message: /^services: got nothing, expected the option services, .* setServices\(\)/,
	});
	t.throws(services({ fields: ['sourcePodName'] }), { message: /because there are Services to name$/ });
	t.throws(() => new FlowExporter({ fields: ['sourcePodName', 'flowType'] }).setPolicyRules([]), {
		message: /^fields: .*ingressNetworkPolicyName.*policy rules/,
	});
	t.throws(() => new FlowExporter({ fields: ['flowType'] }).setNetworks([]), {
		message: /one of sourcePodName, destinationPodName among them/,
	});
});

test('marks, labels, node and cluster have checks and the defaults of the profile', (t) => {
	t.deepEqual(javascript({ profile: 'antrea' }).serviceMark, { value: 0x10, mask: 0x10 });
	t.is(javascript({}).serviceMark, undefined);
	t.deepEqual(javascript({ profile: 'antrea', serviceMark: '0x1/0x3' }).serviceMark, { value: 1, mask: 3 });
	t.deepEqual(javascript({ ruleLabels: { ingress: '0-31', egress: '96-127' } }).ruleLabels, {
		ingress: { first: 0, count: 32 },
		egress: { first: 96, count: 32 },
	});
	for (const egress of ['32-64', '97-128', '5-4', '5', '-1-3', 5])
		t.throws(() => javascript({ ruleLabels: { ingress: '0-31', egress } }), {
			message: /^ruleLabels: .*at most 32 of the bits 0 to 127$/,
		});
	t.throws(() => javascript({ ruleLabels: { ingress: '0-31', egress: '32-63', more: 1 } }), {
		message: /^ruleLabels/,
	});
	t.throws(() => javascript({ podNetworks: ['10.0.0.0/33'] }), { message: /^podNetworks\[0\]: / });
	t.throws(() => javascript({ nodeName: '' }), { message: /^nodeName: / });
	// FNV-1 of "a", by the reference implementation's test vectors.
	t.is(javascript({ profile: 'antrea', nodeName: 'a' }).observationDomain, 0x050c5d7e);
});

test('a file is JSON, YAML or, for networks, CSV; what is wrong in it is said with the file', async (t) => {
	const at = temporaryFolder('conntrack-ipfix-names');
	const write = (name: string, text: string) => {
		writeFileSync(join(at, name), text);
		return join(at, name);
	};
	t.truthy((await fileSet('pods', write('pods.json', JSON.stringify([POD])))).set);
	t.truthy((await fileSet('pods', write('pods.yaml', '- name: a\n  addresses: [10.0.0.1]\n'))).set);
	t.truthy((await fileSet('networks', write('networks.yaml', '- { name: a, prefixes: [10.0.0.0/8] }'))).set);
	t.truthy((await fileSet('networks', write('networks.csv', 'prefix,name\n10.0.0.0/8,a\n'))).set);
	const refused = async (kind: 'pods' | 'networks', path: string) =>
		(await t.throwsAsync(fileSet(kind, path), { code: 'ERR_CONFIG' }))?.message.replaceAll(at, '');
	t.is(
		await refused('pods', write('wrong.yaml', '- name: a\n  adresses: []\n')),
		'pods of file /wrong.yaml: pods[0].adresses: got [], expected no option of this name; did you mean addresses?',
	);
	t.is(
		await refused('networks', write('wrong.csv', '10.0.0.0/8,a\n10.0.0.0/8,b\n')),
		'networks of file /wrong.csv: networks line 2: got "10.0.0.0/8", expected a prefix with one name: line 1 gives it another',
	);
	t.regex(
		(await refused('pods', write('no.json', '[{'))) ?? '',
		/^pods of file \/no\.json: it is neither JSON nor YAML: /,
	);
	t.regex((await refused('pods', join(at, 'none'))) ?? '', /^pods of file \/none: ENOENT/);
});

test('a file that changes is read again; one that cannot be used leaves the former names, and is said once', async (t) => {
	const at = temporaryFolder('conntrack-ipfix-names');
	const path = join(at, 'networks.csv');
	writeFileSync(path, '10.0.0.0/8,a\n');
	const told: string[] = [];
	const files = new NamesFiles({
		paths: { networks: path },
		changed: (kind) => told.push(`${kind} changed`),
		refused: (kind, problem) => told.push(`${kind}: ${problem.replaceAll(at, '').slice(0, 40)}`),
	});
	t.is((await files.open()).length, 1);
	await files.look();
	t.deepEqual(told, []);
	writeFileSync(path, '10.0.0.0/8,b\n');
	await files.look();
	await files.look();
	t.deepEqual(told.splice(0), ['networks changed']);
	writeFileSync(path, '10.0.0.0/8\n');
	await files.look();
	await files.look();
	t.deepEqual(told.splice(0), ['networks: networks of file /networks.csv: networks']);
	// As Kubernetes changes a volume: the name leads elsewhere.
	mkdirSync(join(at, 'next'));
	writeFileSync(join(at, 'next', 'file'), '10.0.0.0/8,c\n');
	renameSync(join(at, 'next', 'file'), path);
	await files.look();
	t.deepEqual(told.splice(0), ['networks changed']);
	// A setter has given others: the file counts no more.
	files.forget('networks');
	writeFileSync(path, '10.0.0.0/8,d\n');
	await files.look();
	t.deepEqual(told, []);
	files.close();
});

test('the command takes files of names, and prints what it uses as a configuration that says the same', (t) => {
	const at = temporaryFolder('conntrack-ipfix-names');
	const flags = [
		'--networks',
		join(at, 'n.csv'),
		'--service-mark',
		'0x10/0x10',
		'--pod-network',
		'10.0.0.0/8',
	];
	const run = (...more: string[]) =>
		execFileSync(process.execPath, ['dist/cli/main.js', 'run', '--print-config', ...more], {
			encoding: 'utf8',
		});
	const printed = run(...flags, '--node-name', 'k1', '--cluster-name', 'blue');
	for (const line of [
		`networks: ${join(at, 'n.csv')} #`,
		'serviceMark: 0x10/0x10 #',
		'nodeName: k1 #',
		'clusterName: blue #',
	])
		t.true(printed.includes(line), `${line} in\n${printed}`);
	t.regex(printed, /podNetworks: \[ ?10\.0\.0\.0\/8 ?\] #/);
	const file = join(at, 'config.yaml');
	writeFileSync(file, `${printed}ruleLabels: { ingress: 0-31, egress: 64-95 }\n`);
	t.regex(run('--config', file), /ruleLabels: \{ ingress: 0-31, egress: 64-95 \} #/);
});
