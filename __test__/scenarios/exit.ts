/** `process.exit()` while the kernel thread reads a table of 40,000 entries. */
import { FlowExporter } from '../../lib/index.ts';
import { run, track, unansweredFlows } from '../support/kernel.ts';

track();
await unansweredFlows('127.0.0.1', 40_000, 1);
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
