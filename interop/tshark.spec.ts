import test from 'ava';
import type { TsharkReading } from './readers/tshark.ts';
import { attributesEqualTheKernels, type Report, scenario, sumsEqualTheKernels } from './support/report.ts';

type TsharkReport = Omit<Report, 'records'> & TsharkReading;

/** Element and length, `ENTERPRISE/` before it where there is one, of each template in the standard profile. */
const TIMES = ['152:8', '153:8', '136:1'];
const ADDRESSES = { IPv4: ['8:4', '12:4'], IPv6: ['27:16', '28:16'] };
const PORTS = ['7:2', '11:2'];
const ICMP = { IPv4: ['32:2'], IPv6: ['139:2'] };
const COUNTERS = ['86:8', '85:8', '29305/86:8', '29305/85:8', '2:8', '1:8', '29305/2:8', '29305/1:8'];
const TRANSLATED = { IPv4: ['225:4', '226:4'], IPv6: ['281:16', '282:16'] };
const TRANSLATED_PORTS = ['227:2', '228:2'];
const KERNEL = ['234:4', '235:4', '21373/4:4', '21373/6:4'];
const DENIED = ['233:1', '21373/3:65535'];

const TEMPLATES: Record<string, string[]> = {};
for (const [first, family] of [
	[256, 'IPv4'],
	[262, 'IPv6'],
] as const) {
	const before = [...TIMES, ...ADDRESSES[family], ...PORTS, '4:1', ...COUNTERS];
	TEMPLATES[first] = [...before, ...KERNEL];
	TEMPLATES[first + 1] = [...before, ...TRANSLATED[family], ...TRANSLATED_PORTS, ...KERNEL];
	TEMPLATES[first + 2] = [...before, ...KERNEL, ...DENIED];
	const icmp = [...TIMES, ...ADDRESSES[family], ...ICMP[family], '4:1', ...COUNTERS];
	TEMPLATES[first + 3] = [...icmp, ...KERNEL];
	TEMPLATES[first + 4] = [...icmp, ...TRANSLATED[family], ...KERNEL];
	TEMPLATES[first + 5] = [...icmp, ...KERNEL, ...DENIED];
}
/** Exporting process reliability, metering statistics, types of private elements (RFC 7011 section 4, RFC 5610). */
const OPTIONS_TEMPLATES = {
	512: ['144:4', '166:8', '167:8', '168:8', '323:8', '323:8'],
	513: ['149:4', '41:8', '42:8', '40:8'],
	514: ['346:4', '303:2', '339:1', '344:1', '345:2', '342:8', '343:8', '341:65535', '340:65535'],
};

/** tshark's names of what a record of each template shows, times aside. */
const SHOWN: Record<number, string[]> = {
	256: ['srcaddr', 'dstaddr', 'srcport', 'dstport'],
	257: [
		...['srcaddr', 'dstaddr', 'srcport', 'dstport', 'post_natsource_ipv4_address'],
		...['post_natdestination_ipv4_address', 'post_naptsource_transport_port'],
		'post_naptdestination_transport_port',
	],
	259: ['srcaddr', 'dstaddr', 'icmp_type_code_ipv4'],
	260: [
		...['srcaddr', 'dstaddr', 'icmp_type_code_ipv4', 'post_natsource_ipv4_address'],
		'post_natdestination_ipv4_address',
	],
	262: ['srcaddrv6', 'dstaddrv6', 'srcport', 'dstport'],
	263: [
		...['srcaddrv6', 'dstaddrv6', 'srcport', 'dstport', 'post_nat_source_ipv6_address'],
		...['post_nat_destination_ipv6_address', 'post_naptsource_transport_port'],
		'post_naptdestination_transport_port',
	],
	265: ['srcaddrv6', 'dstaddrv6', 'icmp_ipv6_type', 'icmp_ipv6_code'],
	266: [
		...['srcaddrv6', 'dstaddrv6', 'icmp_ipv6_type', 'icmp_ipv6_code', 'post_nat_source_ipv6_address'],
		'post_nat_destination_ipv6_address',
	],
};
const SHOWN_ALWAYS = [
	...['timedelta', 'timedelta_tree', 'flow_end_reason', 'protocol'],
	...['permanent_packets', 'permanent_octets', 'packets', 'octets'],
	...['ingress_vrfid', 'egress_vrfid', 'enterprise_private_entry'],
];

for (const protocol of ['udp', 'tcp'] as const) {
	const title = (text: string) => `tshark, ${protocol.toUpperCase()}: ${text}`;
	const report = scenario<TsharkReport>('tshark', protocol);

	test(title('packets and octets of each connection equal the kernel’s'), async (t) => {
		sumsEqualTheKernels(t, await report);
	});

	test(
		title('totals, translation, ICMP type, zone, mark and id of each connection equal the kernel’s'),
		async (t) => {
			attributesEqualTheKernels(t, await report);
		},
	);

	test(title('no warning, no error, nothing unknown'), async (t) => {
		const { expert, unknown } = await report;
		t.deepEqual(expert, []);
		t.deepEqual(unknown, []);
	});

	test(title('each message’s sequence number is the count of its domain’s records before it'), async (t) => {
		const { messages } = await report;
		const sent = new Map<number, number>();
		for (const { domain, sequence, records } of messages) {
			const before = sent.get(domain) ?? 0;
			t.is(sequence, before, `domain ${domain}`);
			sent.set(domain, before + records);
		}
		t.deepEqual([...sent.keys()].sort(), [0, 1]);
	});

	test(title('every template has its elements in order and length'), async (t) => {
		const { templates } = await report;
		const read = Object.fromEntries(
			Object.entries(templates).map(([id, elements]) => [
				id,
				elements.map(
					({ enterprise, number, length }) =>
						`${enterprise === 0 ? '' : `${enterprise}/`}${number}:${length}`,
				),
			]),
		);
		t.deepEqual(read, { ...TEMPLATES, ...OPTIONS_TEMPLATES });
	});

	test(title('every element of every record is decoded'), async (t) => {
		const { records } = await report;
		t.deepEqual(
			[...new Set(records.map(({ template }) => template))].sort(),
			Object.keys(SHOWN).map(Number),
			'all shapes of connections',
		);
		for (const { template, fields } of records) {
			const expected = [...SHOWN_ALWAYS, ...(SHOWN[template] ?? [])].map((name) => `cflow.${name}`);
			t.deepEqual([...fields].sort(), expected.sort(), String(template));
		}
	});
}
