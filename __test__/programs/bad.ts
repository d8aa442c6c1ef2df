/** What must not compile against what is shipped: each line after a directive, which is an error itself where that line has none. */
import {
	Collector,
	type CollectorInput,
	type Connection,
	dump,
	FlowExporter,
	type FlowRecord,
} from 'conntrack-ipfix';

// @ts-expect-error
export const anything: CollectorInput = Symbol('anything');
// @ts-expect-error
new FlowExporter({ collectors: [5] });
// @ts-expect-error
new FlowExporter({ collectors: [() => 1] });
// @ts-expect-error
new FlowExporter({ collectors: [{}] });
// @ts-expect-error
new FlowExporter({ collectors: [{ uri: 'tls://x' }] });
// @ts-expect-error
new FlowExporter({ collectors: [{ url: 'tls://x', certificate: 1 }] });
// @ts-expect-error
new FlowExporter({ collectors: [{ url: 'tls://x', minVersion: 'TLSv1.1' }] });
// @ts-expect-error
new FlowExporter({ collectors: [{ url: 'tls://x', reconnect: { first: 1 } }] });
// @ts-expect-error
new FlowExporter({ pollIntervall: 5 });
// @ts-expect-error
new FlowExporter({ profile: 'antera' });
// @ts-expect-error
new FlowExporter({ zones: 7 });
// @ts-expect-error
new FlowExporter({ fields: ['octetDeltaCuont'] });
// @ts-expect-error
new FlowExporter({ pods: [{ name: 'a', addresses: [] }] });
// @ts-expect-error
new FlowExporter({ mark: { value: 1 } });
// @ts-expect-error
new FlowExporter({}, {});
// @ts-expect-error
new FlowExporter({}).settings;
// @ts-expect-error
new FlowExporter({}).ownsEndpoint('127.0.0.1', 1);
// @ts-expect-error
new FlowExporter({}).on('polled', () => undefined);
// @ts-expect-error
new FlowExporter({}).stats().table.connections;
// @ts-expect-error
new FlowExporter({}).stats().collectors[0]?.exportedOctets;
// @ts-expect-error
new Collector({ listen: 'tcp://127.0.0.1:0' });
// @ts-expect-error
dump({ pollInterval: 5 });

export function read(record: FlowRecord, connection: Connection): void {
	// @ts-expect-error
	const octets: number = record.octetDeltaCount;
	// @ts-expect-error
	const address: number | undefined = record.sourceIPv4Address;
	// @ts-expect-error
	const template: string = record.message.templateId;
	// @ts-expect-error
	connection.message;
	// @ts-expect-error
	const zone: string = connection.ingressVRFID;
	console.log(octets, address, template, zone);
}
