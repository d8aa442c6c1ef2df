/**
 * Makes connections of one datagram each when its parent names sockets, and says when they are made: whoever measures
 * an exporter does not want this work's garbage in the exporter's process.
 */
import { unansweredFlows } from '../__test__/support/kernel.ts';

export interface FlowSocket {
	/** Undefined: the kernel chooses. */
	from?: string | undefined;
	to: string;
	flows: number;
}

process.on('message', async (sockets: FlowSocket[]) => {
	for (const { from, to, flows } of sockets) await unansweredFlows(to, flows, 64, from);
	process.send?.('made');
});
process.on('disconnect', () => process.exit(0));
