/** tshark's reading of a capture: templates and records out of its JSON, and what its expert system says. */
import { keyOf } from '../support/kernel.ts';
import { output } from '../support/program.ts';
import type { ReadRecord } from '../support/report.ts';

type Tree = { [name: string]: string | string[] | Tree };

export interface Element {
	enterprise: number;
	number: number;
	length: number;
}

export interface TsharkReading {
	records: Array<ReadRecord & { template: number; fields: string[] }>;
	/** In the order of the capture; `records` counts options records too. */
	messages: Array<{ domain: number; sequence: number; records: number }>;
	/** By template id. */
	templates: Record<string, Element[]>;
	/** Lines that name an element which tshark does not know. */
	unknown: string[];
	/** What its expert system found, beside a TCP connection's begin and end. */
	expert: string[];
}

const EXPERT_FRAME = /^(?:(?:Errors|Warns|Notes|Chats) \(\d+\)|=+|\s+Frequency\s.*)$/;
/** What it remarks of any TCP connection. */
const ORDINARY =
	/ TCP {2}(?:Connection (?:establish|finish)|This frame (?:initiates|undergoes) the connection clos)/;

export async function readCapture(
	file: string,
	protocol: 'tcp' | 'udp',
	port: number,
): Promise<TsharkReading> {
	const decode = ['-r', file, '-d', `${protocol}.port==${port},cflow`];
	const text = await output('tshark', ...decode, '-T', 'json', '--no-duplicate-keys', '-J', 'cflow');
	const frames = JSON.parse(text) as Array<{ _source: { layers: { cflow?: Tree | Tree[] } } }>;
	const messages = frames.flatMap(({ _source }): Tree[] => [_source.layers.cflow ?? []].flat());
	const verbose = await output('tshark', ...decode, '-O', 'cflow');
	return {
		records: messages.flatMap(recordsOf),
		messages: messages.map((message) => ({
			domain: Number([message['cflow.od_id']].flat()[0]),
			sequence: Number(message['cflow.sequence']),
			records: dataSets(message).flatMap(flowsOf).length,
		})),
		templates: templatesOf(verbose),
		unknown: verbose.split('\n').filter((line) => /unknown|malformed|unassigned|no template/i.test(line)),
		expert: (await output('tshark', ...decode, '-q', '-z', 'expert'))
			.split('\n')
			.filter((line) => line !== '' && !EXPERT_FRAME.test(line) && !ORDINARY.test(line)),
	};
}

function dataSets(message: Tree): Tree[] {
	return Object.entries(message)
		.filter(([name]) => name.startsWith('Set ') && !name.includes('Template'))
		.map(([, set]) => set as Tree);
}

function flowsOf(set: Tree): Tree[] {
	return Object.entries(set)
		.filter(([name]) => name.startsWith('Flow '))
		.map(([, flow]) => flow as Tree);
}

/** Flow records of one message: what has no protocol is an options record. */
function recordsOf(message: Tree): TsharkReading['records'] {
	return dataSets(message).flatMap((set) =>
		flowsOf(set)
			.filter((flow) => flow['cflow.protocol'] !== undefined)
			.map((flow) => ({ template: Number(set['cflow.flowset_id']), ...recordOf(flow) })),
	);
}

function recordOf(flow: Tree): ReadRecord & { fields: string[] } {
	const first = (...names: string[]): string => {
		const value = names.map((name) => flow[`cflow.${name}`]).find((found) => found !== undefined);
		// With the reverse direction's after it.
		const [forward] = [value].flat();
		return typeof forward === 'string' ? forward : '';
	};
	const all = (name: string): string[] => [flow[`cflow.${name}`] ?? []].flat() as string[];
	const [packets = 0, reversePackets = 0] = all('packets').map(Number);
	const [octets = 0, reverseOctets = 0] = all('octets').map(Number);
	const [packetTotal = 0, reversePacketTotal = 0] = all('permanent_packets').map(Number);
	const [octetTotal = 0, reverseOctetTotal = 0] = all('permanent_octets').map(Number);
	const translatedSource = first('post_natsource_ipv4_address', 'post_nat_source_ipv6_address');
	const [mark = 0, id = 0] = all('enterprise_private_entry').map((octetText) =>
		Number.parseInt(octetText.replaceAll(':', ''), 16),
	);
	const times = flow['cflow.timedelta_tree'] as Tree | undefined;
	return {
		key: keyOf(
			first('protocol'),
			first('srcaddr', 'srcaddrv6'),
			Number(first('srcport')),
			first('dstaddr', 'dstaddrv6'),
			Number(first('dstport')),
		),
		packets,
		octets,
		reversePackets,
		reverseOctets,
		start: isoTime(times?.['cflow.abstimestart']),
		end: isoTime(times?.['cflow.abstimeend']),
		totals: [packetTotal, octetTotal, reversePacketTotal, reverseOctetTotal],
		translated:
			translatedSource === ''
				? null
				: {
						source: translatedSource,
						sourcePort: Number(first('post_naptsource_transport_port')),
						destination: first('post_natdestination_ipv4_address', 'post_nat_destination_ipv6_address'),
						destinationPort: Number(first('post_naptdestination_transport_port')),
					},
		icmp:
			flow['cflow.icmp_ipv6_type'] === undefined
				? Number(first('icmp_type_code_ipv4'))
				: Number(first('icmp_ipv6_type')) * 256 + Number(first('icmp_ipv6_code')),
		zone: Number(first('ingress_vrfid')),
		mark,
		id,
		fields: Object.keys(flow),
	};
}

/** `Nov 30, 2026 10:17:23.859000000 UTC` as ISO 8601. */
function isoTime(text: Tree[string] | undefined): string {
	if (typeof text !== 'string') return '';
	return new Date(text.replace(/(\.\d{3})\d*/, '$1')).toISOString();
}

/** From the verbose text: JSON has the fields of all templates of a set under one name. */
function templatesOf(verbose: string): TsharkReading['templates'] {
	const templates: TsharkReading['templates'] = {};
	let template: Element[] = [];
	let field: Element | undefined;
	for (const line of verbose.split('\n')) {
		const id = /^\s+(?:Options )?Template \(Id = (\d+)/.exec(line)?.[1];
		if (id !== undefined) {
			template = [];
			templates[id] = template;
		}
		if (/^\s+Field \(\d+\/\d+\)/.test(line)) {
			field = { enterprise: 0, number: 0, length: 0 };
			template.push(field);
		}
		if (field === undefined) continue;
		const type = /= Type: (?:.*\((\d+)\)(?: \[Reverse\])?|(\d+) \[pen: .*\])$/.exec(line);
		if (type !== null) field.number = Number(type[1] ?? type[2]);
		const length = /^\s+Length: (\d+)/.exec(line)?.[1];
		if (length !== undefined && field.length === 0) field.length = Number(length);
		const enterprise = /^\s+PEN: .*\((\d+)\)$/.exec(line)?.[1];
		if (enterprise !== undefined) field.enterprise = Number(enterprise);
	}
	return templates;
}
