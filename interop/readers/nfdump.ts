/** What nfcapd stored, as nfdump prints it in JSON: objects with commas between, in brackets or not. */
import { keyOf } from '../support/kernel.ts';
import { output } from '../support/program.ts';
import type { ReadRecord } from '../support/report.ts';

interface NfdumpRecord {
	proto: number;
	src_port?: number;
	dst_port?: number;
	icmp_type?: number;
	icmp_code?: number;
	src4_addr?: string;
	dst4_addr?: string;
	src6_addr?: string;
	dst6_addr?: string;
	in_packets: number;
	in_bytes: number;
	out_packets?: number;
	out_bytes?: number;
	ingress_vrf?: string;
	src4_xlt_ip?: string;
	dst4_xlt_ip?: string;
	src_xlt_port?: string;
	dst_xlt_port?: string;
	first: string;
	last: string;
}

export async function readFolder(folder: string): Promise<NfdumpRecord[]> {
	const text = (await output('nfdump', '-q', '-R', folder, '-o', 'json')).trim();
	return JSON.parse(text.startsWith('[') ? text : `[${text}]`) as NfdumpRecord[];
}

export function toReadRecord(record: NfdumpRecord): ReadRecord {
	const { src4_xlt_ip: source, dst4_xlt_ip: destination } = record;
	const isV4 = record.src4_addr !== undefined;
	return {
		key: keyOf(
			record.proto,
			record.src4_addr ?? record.src6_addr ?? '',
			record.src_port ?? 0,
			record.dst4_addr ?? record.dst6_addr ?? '',
			record.dst_port ?? 0,
		),
		packets: record.in_packets,
		octets: record.in_bytes,
		reversePackets: record.out_packets ?? 0,
		reverseOctets: record.out_bytes ?? 0,
		icmp: (record.icmp_type ?? 0) * 256 + (record.icmp_code ?? 0),
		zone: Number(record.ingress_vrf),
		// nfdump does not read elements 281 and 282.
		...(isV4 && {
			translated:
				source === undefined || destination === undefined
					? null
					: {
							source,
							sourcePort: Number(record.src_xlt_port ?? 0),
							destination,
							destinationPort: Number(record.dst_xlt_port ?? 0),
						},
		}),
	};
}
