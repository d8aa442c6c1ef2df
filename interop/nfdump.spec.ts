import test from 'ava';
import { attributesEqualTheKernels, type Report, scenario, sumsEqualTheKernels } from './support/report.ts';

const report = scenario<Report & { statistics: string }>('nfdump');

test('nfcapd: packets and octets of each connection equal the kernel’s', async (t) => {
	sumsEqualTheKernels(t, await report);
});

test('nfcapd: IPv4 translation, ICMP type and zone of each connection equal the kernel’s', async (t) => {
	attributesEqualTheKernels(t, await report);
});

test('nfcapd: no sequence error, no bad packet, every record taken', async (t) => {
	const { statistics, records } = await report;
	t.regex(statistics, new RegExp(`Flows: ${records.length},.* Sequence Errors: 0, Bad Packets: 0$`));
});
