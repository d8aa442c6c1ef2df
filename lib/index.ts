/** conntrack-ipfix: exports Linux conntrack flows as IPFIX. */
export {
	type Chunk,
	Collector,
	type CollectorEvents,
	type CollectorOptions,
	type CollectorState,
	type CollectorStats,
	type CollectorWarning,
	type CollectorWarningCode,
	type Transport,
} from './collector/collector.ts';
export { dump } from './dump.ts';
export { AgentError, OptionError } from './errors.ts';
export { FlowExporter } from './exporter/exporter.ts';
export type * from './types.ts';
