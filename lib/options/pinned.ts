/**
 * The public types are the tables' own, and the core's, in both directions: what compiles is accepted, what is accepted compiles. Whoever changes
 * one and not the other hears of it here, from the compiler.
 */
import type { NativeNotice, NativeStats } from '../core/native.ts';
import type {
	CollectorInput,
	CollectorTarget,
	ExporterOptions,
	NetworkInput,
	PodInput,
	PolicyRuleInput,
	PollSummary,
	ServiceInput,
	TableStats,
} from '../types.ts';
import type { CollectorShapeInput } from './collector_table.ts';
import type { OptionTable, ShapeInput } from './table.ts';

/** True when both are assignable to each other; for objects member by member, because optional members are never missing. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type SameMembers<A, B> =
	Same<keyof A, keyof B> extends true
		? { [K in keyof A & keyof B]-?: Same<A[K], B[K]> }[keyof A & keyof B]
		: false;

/** An element of a list option. */
type ElementOf<K extends keyof ShapeInput> =
	Extract<ShapeInput[K], ReadonlyArray<unknown>> extends ReadonlyArray<infer E> ? E : never;
type Reconnect<T extends { reconnect?: unknown }> = NonNullable<T['reconnect']>;
type Rotate<T extends { rotate?: unknown }> = NonNullable<T['rotate']>;

/** Only `true` is accepted for each. */
export const PINNED: {
	options: SameMembers<Omit<ExporterOptions, 'signal'>, ShapeInput>;
	collector: SameMembers<CollectorTarget, CollectorShapeInput>;
	reconnect: SameMembers<Reconnect<CollectorTarget>, Reconnect<CollectorShapeInput>>;
	rotate: SameMembers<Rotate<CollectorTarget>, Rotate<CollectorShapeInput>>;
	inList: Same<CollectorInput, ElementOf<'collectors'>>;
	pod: SameMembers<PodInput, ElementOf<'pods'>>;
	service: SameMembers<ServiceInput, ElementOf<'services'>>;
	policyRule: SameMembers<PolicyRuleInput, ElementOf<'policyRules'>>;
	network: SameMembers<NetworkInput, ElementOf<'networks'>>;
	poll: SameMembers<PollSummary, NonNullable<NativeNotice['poll']>>;
	table: SameMembers<TableStats, NativeStats>;
	rows: Same<keyof OptionTable, Exclude<keyof ExporterOptions, 'signal'>>;
} = {
	options: true,
	collector: true,
	reconnect: true,
	rotate: true,
	inList: true,
	pod: true,
	service: true,
	policyRule: true,
	network: true,
	poll: true,
	table: true,
	rows: true,
};
