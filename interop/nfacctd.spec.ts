import test from 'ava';
import { attributesEqualTheKernels, type Report, scenario, sumsEqualTheKernels } from './support/report.ts';

const report = scenario<Report & { nfacctd: string[] }>('nfacctd');

test('nfacctd: packets and octets of each connection equal the kernel’s', async (t) => {
	sumsEqualTheKernels(t, await report);
});

test('nfacctd: IPv4 translation, zone, mark and id of each connection equal the kernel’s', async (t) => {
	attributesEqualTheKernels(t, await report);
});

test('nfacctd: reads every message without a complaint', async (t) => {
	t.deepEqual((await report).nfacctd, []);
});
