/**
 * What CommonJS programs in TypeScript see, whatever module format they are compiled to. At run time `require('conntrack-ipfix')` gives
 * the same ES module. Copied to dist/ by the build, because the compiler emits no declarations for what has no code.
 */
import type * as esm from './index.ts' with { 'resolution-mode': 'import' };

export declare const AgentError: typeof esm.AgentError;
export type AgentError = esm.AgentError;
export declare const Collector: typeof esm.Collector;
export type Collector = esm.Collector;
export declare const dump: typeof esm.dump;
export declare const FlowExporter: typeof esm.FlowExporter;
export type FlowExporter = esm.FlowExporter;
export declare const OptionError: typeof esm.OptionError;
export type OptionError = esm.OptionError;
// All other types; what is declared above hides its own.
export type * from './index.ts' with { 'resolution-mode': 'import' };
