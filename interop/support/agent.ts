/** The exporter as a process on the scenario's traffic, and the kernel's own count of that traffic. */
import { flushKernel } from '../../__test__/support/kernel.ts';
import { type Connection, connections } from './kernel.ts';
import { conntrackIpfix } from './program.ts';
import { traffic } from './traffic.ts';

/** Where collectors listen. */
export const PORT = 4_739;
export const TLS_PORT = 4_740;

export interface Exported {
	/** Every connection but those of the exporter itself, before its entry went. */
	kernel: Connection[];
	/** Warnings and errors that the exporter logged, but for slow polls: other tests keep the machine busy. */
	complaints: string[];
}

/**
 * Starts `conntrack-ipfix run` with `flags`, makes the traffic, takes the kernel's count, lets all entries go and
 * ends the exporter. Timeouts are short, so that long connections are exported in parts.
 */
export async function exportTraffic(...flags: string[]): Promise<Exported> {
	const agent = conntrackIpfix(
		'run',
		...['--poll-interval', '250ms', '--active-timeout', '500ms', '--idle-timeout', '1s'],
		...['--log-format', 'json', '--log-level', 'debug'],
		...flags,
	);
	await agent.printed(/"msg":"started"/);
	await agent.printed(/"msg":"connected"/);
	await traffic();
	// One poll may have begun before the last packet; what moves after the last poll of an entry nobody can know.
	const polls = () => agent.stderr.split('"msg":"poll"').length;
	const before = polls();
	await agent.until('polled twice more', () => polls() >= before + 2);
	const kernel = connections().filter(({ destinationPort }) => ![PORT, TLS_PORT].includes(destinationPort));
	flushKernel();
	await agent.succeeded('SIGTERM');
	const complaints = agent.stderr
		.split('\n')
		.filter((line) => line !== '' && !/"level":"(info|debug|trace)"|"code":"POLL_STRETCHED"/.test(line));
	return { kernel, complaints };
}
