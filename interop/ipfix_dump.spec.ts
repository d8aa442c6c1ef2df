import test from 'ava';
import type { Fields } from './readers/ipfix_dump.ts';
import { attributesEqualTheKernels, type Report, scenario, sumsEqualTheKernels } from './support/report.ts';

for (const transport of ['tcp', 'tls', 'udp', 'file']) {
	const title = (text: string) => `ipfixDump, ${transport}: ${text}`;
	const report = scenario<Report & { others: Fields[] }>('ipfix_dump', transport);

	test(title('packets and octets of each connection equal the kernel’s'), async (t) => {
		sumsEqualTheKernels(t, await report);
	});

	test(
		title('totals, translation, ICMP type, zone, mark and id of each connection equal the kernel’s'),
		async (t) => {
			attributesEqualTheKernels(t, await report);
		},
	);

	test(title('type records name the private elements'), async (t) => {
		const { others } = await report;
		const types = others
			.filter((block) => block['informationElementName'] !== undefined)
			.map((block) => [
				...['privateEnterpriseNumber', 'informationElementId', 'informationElementName'].map(
					(name) => block[name],
				),
			]);
		t.deepEqual([...new Set(types.map(String))].sort(), [
			'21373,3,logPrefix',
			'21373,4,mark',
			'21373,6,conntrackId',
		]);
	});
}
