/** `process.exit()` while the kernel thread reads a table of 40,000 entries. */
import { createSocket } from 'node:dgram';
import { FlowExporter } from '../../lib/index.ts';
import { run, track } from '../support/kernel.ts';

track();
const socket = createSocket('udp4');
for (let port = 1; port <= 40_000; port += 1) {
	await new Promise((resolve) => socket.send('x', port, '127.0.0.1', resolve));
}
const entries = Number(run('conntrack', '-C'));
const exporter = new FlowExporter({ pollInterval: 100, activeTimeout: 100, idleTimeout: 100 });
let polled = false;
exporter.on('poll', () => {
	polled = true;
});
void exporter.start();
setTimeout(() => {
	console.log(JSON.stringify({ entries, polled }));
	process.exit(0);
}, 2);
