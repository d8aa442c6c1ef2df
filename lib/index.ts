/** conntrack-ipfix: exports Linux conntrack flows as IPFIX. */
export {
	Collector,
	type CollectorEvents,
	type CollectorOptions,
	type CollectorStats,
	type FlowRecord,
} from './collector/collector.ts';
export { type Connection, type DumpFilters, dump } from './dump.ts';
export { AgentError, OptionError } from './errors.ts';
export type {
	ExporterEvents,
	ExporterState,
	ExporterStats,
	ExportSummary,
	LossSummary,
	PollSummary,
} from './exporter/events.ts';
export { type ExporterOptions, FlowExporter } from './exporter/exporter.ts';
export type { CollectorInput, DurationInput, PodInput } from './options/options.ts';
export type { SessionState, SessionStats } from './transport/session_host.ts';
