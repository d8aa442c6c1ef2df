import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { flowOf, type GoReading } from './readers/go_ipfix.ts';
import { type Report, scenario, sumsEqualTheKernels } from './support/report.ts';

const SOURCE = fileURLToPath(new URL('go-ipfix/', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'conntrack-ipfix-go-'));
test.after.always(() => rmSync(folder, { recursive: true, force: true }));

/** Builds the collector, with the modules that go.sum names. */
async function build(): Promise<string> {
	const program = join(folder, 'go-ipfix');
	try {
		await promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: SOURCE });
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
		throw new Error('go was not found: install Go 1.26 or later (go.dev/doc/install) for go-ipfix', {
			cause: error,
		});
	}
	return program;
}

const program = build();
program.catch(() => undefined);

/** Antrea's list, in order: enterprise (0 is IANA), number, length (65535: variable). */
const BEFORE = [
	...['0:150:4', '0:151:4', '0:136:1', '0:7:2', '0:11:2', '0:4:1', '0:86:8', '0:85:8', '0:2:8', '0:1:8'],
];
const REVERSE = ['29305:86:8', '29305:85:8', '29305:2:8', '29305:1:8'];
const ANTREA = [
	...[
		'101:V',
		'100:V',
		'104:V',
		'103:V',
		'102:V',
		'105:V',
		'108:2',
		'109:V',
		'110:V',
		'111:V',
		'115:1',
		'141:V',
	],
	...[
		'139:1',
		'112:V',
		'113:V',
		'118:1',
		'142:V',
		'140:1',
		'136:V',
		'137:1',
		'153:V',
		'154:V',
		'157:V',
		'172:2',
	],
].map((element) => `56506:${element.replace('V', '65535')}`);
const TEMPLATES = [
	[...BEFORE, '0:8:4', '0:12:4', ...REVERSE, ...ANTREA, '56506:106:4', '56506:170:4', '56506:168:4'],
	[...BEFORE, '0:27:16', '0:28:16', ...REVERSE, ...ANTREA, '56506:107:16', '56506:171:16', '56506:169:16'],
];

for (const transport of ['tcp', 'tls', 'udp']) {
	const title = (text: string) => `go-ipfix, ${transport}: ${text}`;
	const report = program.then((path) =>
		scenario<Report & { reading: GoReading; refused: string[] }>('go_ipfix', path, transport),
	);

	test(title('packets and octets of each connection equal the kernel’s'), async (t) => {
		sumsEqualTheKernels(t, await report);
	});

	test(title('the collector took everything, in strict mode'), async (t) => {
		const { reading, refused } = await report;
		t.deepEqual(refused, []);
		t.is(reading.end?.records, reading.records.length);
		t.true(reading.records.length > 0);
	});

	test(title('both templates have the 43 elements in order, one a message of 320 octets'), async (t) => {
		const { templates } = (await report).reading;
		t.deepEqual([...new Set(templates.map(({ message }) => message.octets))], [320]);
		const read = new Map(
			templates.map(({ message, fields }) => [
				message.template,
				fields.map(({ enterprise, number, length }) => `${enterprise}:${number}:${length}`),
			]),
		);
		t.deepEqual(
			[...read.entries()].sort(),
			TEMPLATES.map((fields, index) => [256 + index, fields]),
		);
		for (const [, fields] of read) t.is(fields.length, 43);
	});

	test(title('each message’s sequence number is the count of records before it'), async (t) => {
		const { records, templates } = (await report).reading;
		t.true(templates.every(({ message }) => message.domain === templates[0]?.message.domain));
		const sizes = new Map<number, number>();
		for (const { message } of records) sizes.set(message.sequence, (sizes.get(message.sequence) ?? 0) + 1);
		let before = 0;
		for (const [sequence, count] of sizes) {
			t.is(sequence, before);
			before += count;
		}
		if (transport === 'udp') t.true(records.every(({ message }) => message.octets <= 1_024));
	});

	test(title('elements that the kernel knows nothing of are empty; times never stand still'), async (t) => {
		const { records } = (await report).reading;
		const ends = new Map<string, number>();
		for (const { elements } of records) {
			t.is(Object.keys(elements).length, 43);
			t.is(elements['sourcePodName'], '');
			t.is(elements['ingressNetworkPolicyRuleAction'], 0);
			t.is(elements['flowType'], 0);
			// Without ports several connections of ICMP look like one.
			if (elements['sourceTransportPort'] === 0) continue;
			const { key } = flowOf(elements);
			const end = Number(elements['flowEndSeconds']);
			// The aggregator drops a record whose end is not after the one before.
			t.true(end > (ends.get(key) ?? 0), key);
			ends.set(key, end);
		}
	});
}
