/**
 * A collector that resets its connection in the middle. Before that its packets are dropped and what its kernel has
 * acknowledged is read out: so it has exactly what the exporter may take as settled.
 */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { parseLines } from '../../lib/collector.ts';
import { FlowExporter, type FlowRecord } from '../../lib/index.ts';
import { native } from '../../lib/native.ts';
import { flushKernel, kernelFlows, run, sleep, track, unansweredFlows, until } from '../support/kernel.ts';
import { sumByFlow } from '../support/records.ts';
import { report } from '../support/report.ts';

const FLOWS = 4_000;
const RESETS = 3;
const READ_BEFORE_RESET = 40_000;

track();
const perSession: FlowRecord[][] = [];
const errors: string[] = [];
const server = createServer(async (socket) => {
	const decoder = new (native().NativeDecoder)('stream');
	const mine: FlowRecord[] = [];
	const number = perSession.push(mine);
	let read = 0;
	let cut = false;
	socket.on('error', () => undefined);
	socket.on('data', (chunk) => {
		const { json, error } = decoder.feed(chunk);
		if (error != null) errors.push(error);
		mine.push(...parseLines(json));
		read += chunk.length;
		if (cut || number > RESETS || read < READ_BEFORE_RESET) return;
		cut = true;
		run('nft', `add rule inet track in tcp dport ${port} drop`);
		setTimeout(() => {
			socket.resetAndDestroy();
			run('nft', 'flush chain inet track in');
		}, 200);
	});
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const bound = server.address();
const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
run('nft', 'add chain inet track in { type filter hook input priority 0; }');

const exporter = new FlowExporter({
	collectors: [{ url: `tcp://127.0.0.1:${port}`, reconnect: { initial: 50, max: 100 } }],
	pollInterval: 100,
	activeTimeout: '1m',
	idleTimeout: '1m',
	batchRecords: 100,
});
await exporter.start();
await unansweredFlows('127.0.0.1', FLOWS, 64);
await until('all are in the table', () => exporter.stats().table?.connections === FLOWS);
const kernel = kernelFlows(port);
flushKernel();
await until('all have been sent', () => exporter.stats().table?.connections === 0);
await exporter.stop();
await sleep(50);
server.close();
const stats = exporter.stats();
report({
	kernel,
	exported: [...sumByFlow(perSession.flat()).values()],
	sessions: perSession.map((mine) => mine.length),
	errors,
	stats,
});
