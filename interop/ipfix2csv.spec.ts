import test from 'ava';
import { attributesEqualTheKernels, type Report, scenario, sumsEqualTheKernels } from './support/report.ts';

const report = scenario<Report>('ipfix2csv');

test('ipfix2csv, file: packets and octets of each connection equal the kernel’s', async (t) => {
	sumsEqualTheKernels(t, await report);
});

test('ipfix2csv, file: ICMP types equal the kernel’s', async (t) => {
	attributesEqualTheKernels(t, await report);
});
