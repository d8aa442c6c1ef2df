/** nfacctd's configuration, and what its print plugin writes. */
import { keyOf } from '../support/kernel.ts';
import type { ReadRecord } from '../support/report.ts';

/**
 * Elements that nfacctd has no name for. Reverse counters are keys to it, so that two records with the same would be
 * one row: totals never repeat while a connection's counters move, deltas can.
 */
export const PRIMITIVES = `
name=reverse_packets_total field_type=29305:86 len=8 semantics=u_int
name=reverse_octets_total field_type=29305:85 len=8 semantics=u_int
name=zone field_type=234 len=4 semantics=u_int
name=ct_mark field_type=21373:4 len=4 semantics=u_int
name=ct_id field_type=21373:6 len=4 semantics=u_int
`;

const AGGREGATE = [
	...['src_host', 'dst_host', 'src_port', 'dst_port', 'proto'],
	...['post_nat_src_host', 'post_nat_dst_host', 'post_nat_src_port', 'post_nat_dst_port'],
	...['zone', 'ct_mark', 'ct_id', 'reverse_packets_total', 'reverse_octets_total'],
];

export function configuration(port: number, primitives: string, output: string): string {
	return `
daemonize: false
nfacctd_ip: 127.0.0.1
nfacctd_port: ${port}
plugins: print[flows]
aggregate_primitives: ${primitives}
aggregate[flows]: ${AGGREGATE.join(', ')}
print_output[flows]: json
print_output_file[flows]: ${output}
print_output_file_append[flows]: true
print_refresh_time[flows]: 1
`;
}

const PROTOCOLS: Readonly<Record<string, number>> = { icmp: 1, tcp: 6, udp: 17, 'ipv6-icmp': 58 };

interface Row {
	ip_proto: string;
	ip_src: string;
	ip_dst: string;
	port_src: number;
	port_dst: number;
	packets: number;
	bytes: number;
	post_nat_ip_src: string;
	post_nat_ip_dst: string;
	post_nat_port_src: number;
	post_nat_port_dst: number;
	zone: string;
	ct_mark: string;
	ct_id: string;
	/** Absent where it was not asked for. */
	reverse_packets_total?: string;
	reverse_octets_total?: string;
}

/**
 * Rows of one key in the order of their reverse totals, each with what it adds to the one before. nfacctd reads no
 * post-NAT address of IPv6.
 */
export function readRows(text: string): ReadRecord[] {
	const rows = text
		.split('\n')
		.filter((line) => line !== '')
		.map((line) => JSON.parse(line) as Row)
		.sort((one, other) => Number(one.reverse_packets_total ?? 0) - Number(other.reverse_packets_total ?? 0));
	const before = new Map<string, { packets: number; octets: number }>();
	return rows.map((row) => {
		const key = keyOf(
			PROTOCOLS[row.ip_proto] ?? row.ip_proto,
			row.ip_src,
			row.port_src,
			row.ip_dst,
			row.port_dst,
		);
		const total = {
			packets: Number(row.reverse_packets_total ?? 0),
			octets: Number(row.reverse_octets_total ?? 0),
		};
		const last = before.get(key) ?? { packets: 0, octets: 0 };
		before.set(key, total);
		return {
			key,
			packets: row.packets,
			octets: row.bytes,
			reversePackets: total.packets - last.packets,
			reverseOctets: total.octets - last.octets,
			zone: Number(row.zone),
			mark: Number(row.ct_mark),
			id: Number(row.ct_id),
			...(!row.ip_src.includes(':') && {
				translated:
					row.post_nat_ip_src === ''
						? null
						: {
								source: row.post_nat_ip_src,
								sourcePort: row.post_nat_port_src,
								destination: row.post_nat_ip_dst,
								destinationPort: row.post_nat_port_dst,
							},
			}),
		};
	});
}
