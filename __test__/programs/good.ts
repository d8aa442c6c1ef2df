/** Programs that have to compile against what is shipped. */
import {
	AgentError,
	type AntreaRecord,
	Collector,
	type CollectorInput,
	type CollectorTarget,
	type Connection,
	dump,
	type ExporterOptions,
	type ExporterStats,
	FlowExporter,
	type FlowRecord,
	OptionError,
	type PollSummary,
	type StandardRecord,
} from 'conntrack-ipfix';

const target: CollectorTarget = {
	url: 'tls://a',
	ca: 'ca.pem',
	reconnect: { max: '10s' },
	stallTimeout: 500,
};
const inputs: CollectorInput[] = ['tcp://a', target];
const options: ExporterOptions = {
	collectors: [...inputs, { url: 'file:/tmp/a', rotate: { size: 65_536 } }],
	pollInterval: '5s',
	activeTimeout: 60_000,
	zones: [0, 65_520],
	protocols: ['tcp', 58],
	mark: { value: 1, mask: 1 },
	fields: ['sourceIPv4Address', 'sourceIPv6Address', 'octetDeltaCount'],
	pods: [{ name: 'a', namespace: 'b', addresses: ['10.0.0.1'] }],
	netns: 4711,
	signal: AbortSignal.timeout(1_000),
};
// What is not given may be undefined, and lists may be constant.
const same: ExporterOptions = { ...options, metrics: undefined, exclude: ['10.0.0.0/8'] as const };

export async function main(): Promise<void> {
	await using exporter = new FlowExporter(same);
	exporter.on('poll', (summary: PollSummary) => console.log(summary.ipv4 + summary.durationMs));
	exporter.on('disconnect', ({ collector, retryInMs }) =>
		console.log(collector.length, (retryInMs ?? 0) + 1),
	);
	exporter.on('error', (error) => console.log(error.message));
	await exporter.start();
	exporter.setPods([{ name: 'a', namespace: '', node: 'n', addresses: [] }]);
	const stats: ExporterStats = exporter.stats();
	console.log(
		(stats.table?.connections ?? 0) + stats.exported.octets + (stats.collectors[0]?.settledBytes ?? 0),
	);
	const collector = new Collector({ listen: ['tcp://127.0.0.1:0'] });
	for await (const records of collector) {
		for (const record of records) tell(record);
	}
	for await (const connections of dump({ families: ['ipv4'] })) {
		const ports: number[] = connections.map((connection: Connection) => connection.sourceTransportPort ?? 0);
		console.log(ports, connections[0]?.status.join(), connections[0]?.master?.protocolIdentifier);
	}
}

function tell(record: FlowRecord): void {
	const octets: number = record.octetDeltaCount ?? 0;
	const source: string | undefined = record.sourceIPv4Address ?? record.sourceIPv6Address;
	const id: number = record.message.templateId;
	console.log(
		octets,
		source,
		id,
		record['9999/7'],
		record['applicationName_2'],
		record.scope?.exportingProcessId,
	);
	const standard = record as StandardRecord;
	const start: string = standard.flowStartMilliseconds;
	const antrea = record as AntreaRecord;
	const pod: string = antrea.sourcePodName;
	console.log(start, pod);
}

export function why(error: unknown): string {
	if (error instanceof OptionError) return `${error.path}: ${error.expected}`;
	return error instanceof AgentError ? error.code : 'unknown';
}
