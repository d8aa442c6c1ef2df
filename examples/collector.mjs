/**
 * A collector in a few lines: prints one line a flow record.
 *
 *   npm install conntrack-ipfix
 *   node collector.mjs tcp://127.0.0.1:4739
 */
import { Collector } from 'conntrack-ipfix';

const listen = process.argv.slice(2);
if (listen.length === 0) {
	console.error('usage: node collector.mjs URL...');
	process.exit(2);
}

const collector = new Collector({ listen });
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => collector.stop());

await collector.start();
for (const address of collector.addresses) console.log(`listening on ${address}`);

for await (const records of collector) {
	for (const record of records) {
		const source = record.sourceIPv4Address ?? record.sourceIPv6Address;
		const destination = record.destinationIPv4Address ?? record.destinationIPv6Address;
		console.log(`${source} > ${destination}: ${record.octetDeltaCount} octets`);
	}
}
