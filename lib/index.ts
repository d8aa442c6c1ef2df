/** conntrack-ipfix: exports Linux conntrack flows as IPFIX. */
export {
	Collector,
	type CollectorEvents,
	type CollectorOptions,
	type CollectorStats,
	type FlowRecord,
} from './collector/collector.ts';
export { type Connection, dump } from './dump.ts';
export { AgentError, OptionError } from './errors.ts';
export type {
	ExporterEvents,
	ExporterState,
	ExporterStats,
	ExportSummary,
	LossSummary,
	PollSummary,
} from './exporter/events.ts';
export { FlowExporter } from './exporter/exporter.ts';
export type { SessionState, SessionStats } from './transport/session_host.ts';
export type {
	CollectorInput,
	CollectorTarget,
	ConnectionFilters,
	DurationInput,
	ExporterOptions,
	FieldName,
	MarkFilter,
	PodInput,
	ReconnectOptions,
	RotateOptions,
} from './types.ts';
