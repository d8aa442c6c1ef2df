/** One collector, one bad day after another: it half-closes, goes silent, cannot be reached, comes back. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { parseLines } from '../../lib/collector.ts';
import { FlowExporter, type FlowRecord } from '../../lib/index.ts';
import { native } from '../../lib/native.ts';
import { flushKernel, kernelFlows, run, track, unansweredFlows, until } from '../support/kernel.ts';
import { sumByFlow } from '../support/records.ts';
import { report } from '../support/report.ts';

const FLOWS = 500;
track();
run('nft', 'add chain inet track in { type filter hook input priority 0; }');
let sessions = 0;
const records: FlowRecord[] = [];
const server = createServer({ allowHalfOpen: true }, (socket) => {
	sessions += 1;
	const decoder = new (native().NativeDecoder)('stream');
	socket.on('error', () => undefined);
	socket.on('end', () => socket.end());
	socket.on('data', (chunk) => records.push(...parseLines(decoder.feed(chunk).json)));
	if (sessions === 1) socket.end('this is not for an exporter\n');
	if (sessions === 2) run('nft', `add rule inet track in tcp dport ${port} drop`);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const bound = server.address();
const port = typeof bound === 'object' && bound !== null ? bound.port : 0;

const exporter = new FlowExporter({
	collectors: [
		{
			url: `tcp://127.0.0.1:${port}`,
			reconnect: { initial: 50, max: 100 },
			connectTimeout: 300,
			stallTimeout: 400,
		},
	],
	pollInterval: 100,
	activeTimeout: '1m',
	idleTimeout: '1m',
	protocols: ['udp'],
});
const reasons: string[] = [];
exporter.on('disconnect', ({ reason }) => reasons.push(reason));
await exporter.start();
await until('it was half-closed', () => sessions >= 2);
await unansweredFlows('127.0.0.1', FLOWS, 30);
await until('all are in the table', () => exporter.stats().table?.connections === FLOWS);
const kernel = kernelFlows().filter(({ key }) => key.startsWith('udp'));
flushKernel();
await until('it has stalled and cannot be reached', () =>
	reasons.some((reason) => reason.includes('no answer')),
);
const away = exporter.stats();
run('nft', 'flush chain inet track in');
await until('all is exported', () => exporter.stats().table?.connections === 0);
await exporter.stop();
await until('all was read', () => records.length >= FLOWS);
report({
	kernel,
	reasons,
	away,
	exported: [...sumByFlow(records).values()],
	losses: exporter.stats().losses,
});
