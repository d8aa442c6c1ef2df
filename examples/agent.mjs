/**
 * A node agent in a few lines: exports this machine's flows and says what happens.
 *
 *   npm install conntrack-ipfix
 *   node agent.mjs tcp://collector.example:4739
 *
 * Needs CAP_NET_ADMIN; `unshare -Urn node agent.mjs …` tries it in a namespace of its own.
 */
import { AgentError, FlowExporter } from 'conntrack-ipfix';

const collectors = process.argv.slice(2);
if (collectors.length === 0) {
	console.error('usage: node agent.mjs URL...');
	process.exit(2);
}

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopping.abort());

const exporter = new FlowExporter({
	collectors,
	pollInterval: '5s',
	activeTimeout: '60s',
	signal: stopping.signal,
});

exporter.on('poll', ({ ipv4, ipv6, durationMs }) =>
	console.log(`poll: ${ipv4} IPv4, ${ipv6} IPv6, ${durationMs.toFixed(1)} ms`),
);
exporter.on('export', ({ records, octets }) =>
	console.log(`exported: ${records} records about ${octets} octets of traffic`),
);
exporter.on('loss', (losses) => console.log('lost:', losses));
exporter.on('connect', ({ collector }) => console.log(`connected to ${collector}`));
exporter.on('disconnect', ({ collector, reason, retryInMs }) =>
	console.log(`${collector}: ${reason}${retryInMs === null ? '' : `, again in ${retryInMs} ms`}`),
);
exporter.on('warning', ({ code, message }) => console.log(`${code}: ${message}`));

try {
	await exporter.start();
	console.log('started');
} catch (error) {
	// A signal before the first poll is no failure.
	if (!(error instanceof AgentError && error.code === 'ERR_STOPPED')) throw error;
}
