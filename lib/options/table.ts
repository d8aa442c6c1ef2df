/**
 * The options of the exporter: one row each. From them follow flags, help, variables of the environment, the schema, the printed
 * configuration and the README's tables. The public types (lib/types.ts) are written by hand and pinned to these rows by pinned.ts.
 */
import type { z } from 'zod';
import { namesSchema } from '../names/sets.ts';
import type { ExporterOptions, NetworkInput, PodInput, PolicyRuleInput, ServiceInput } from '../types.ts';
import { choice, type DurationCheck, integer, list, parsed, pem, text, truth } from './checks.ts';
import { collectorSchema } from './collector_table.ts';
import type { OptionRow } from './row.ts';
import { cidr, endpoint, field, mark, netns, protocol, ruleLabels } from './values.ts';

/** In the order in which help and the README list them. */
export const optionTable = (duration: DurationCheck) =>
	({
		collectors: {
			schema: list(collectorSchema(duration), 'a list of collectors'),
			flag: 'collector',
			kind: 'texts',
			argument: 'URL',
			meaning:
				'`tcp://HOST[:4739]`, `udp://HOST[:4739]`, `tls://HOST[:4740]` or `file:PATH` (not a folder); IPv6 in brackets, link-local with its link: `[fe80::1%eth0]`; repeatable; [docs/collectors.md](docs/collectors.md) has those that were tried',
		},
		tlsCa: {
			schema: pem(),
			flag: 'tls-ca',
			kind: 'text',
			argument: 'FILE',
			meaning: "for `tls://`: authorities that collectors' certificates come from (PEM)",
		},
		tlsCert: {
			schema: pem(),
			flag: 'tls-cert',
			kind: 'text',
			argument: 'FILE',
			meaning: "for `tls://`: the agent's certificate chain (PEM)",
		},
		tlsKey: {
			schema: pem(),
			flag: 'tls-key',
			kind: 'text',
			argument: 'FILE',
			meaning: 'for `tls://`: its private key (PEM)',
		},
		tlsServerName: {
			schema: text('a host name'),
			flag: 'tls-server-name',
			kind: 'text',
			argument: 'NAME',
			defaultText: "the URL's host",
			meaning: "for `tls://`: name in the collector's certificate",
		},
		delivery: {
			schema: choice('failover', 'all'),
			flag: 'delivery',
			kind: 'text',
			argument: 'failover|all',
			default: 'failover',
			meaning: 'to the first healthy collector, or to every one',
		},
		profile: {
			schema: choice('standard', 'antrea'),
			flag: 'profile',
			kind: 'text',
			argument: 'standard|antrea',
			default: 'standard',
			meaning: 'which elements ([docs/elements.md](docs/elements.md))',
		},
		fields: {
			schema: list(field, 'a list of element names', 'at least one element'),
			flag: 'fields',
			kind: 'texts',
			argument: 'NAMES',
			meaning: 'only these elements, in this order, with commas between',
		},
		source: {
			schema: choice('poll', 'events'),
			flag: 'source',
			kind: 'text',
			argument: 'poll|events',
			default: 'poll',
			meaning: "read the table each interval, or follow the kernel's events",
		},
		resyncInterval: {
			schema: duration,
			flag: 'resync-interval',
			kind: 'text',
			argument: 'TIME',
			default: '5m',
			meaning: 'with events: how often the table is read all the same',
		},
		zones: {
			schema: list(integer(0, 65_535), 'a list of zones'),
			flag: 'zone',
			kind: 'numbers',
			argument: 'N',
			selection: true,
			defaultText: 'all; antrea: 65520 for IPv4, 65510 for IPv6',
			meaning: 'only this conntrack zone of either direction; 0 is zone 0 only; repeatable',
		},
		families: {
			schema: list(choice('ipv4', 'ipv6'), 'a list of ipv4 and ipv6', 'at least one of ipv4 and ipv6'),
			flag: 'family',
			kind: 'texts',
			argument: 'ipv4|ipv6',
			selection: true,
			defaultText: 'both',
			meaning: 'only this address family',
		},
		protocols: {
			schema: list(protocol, 'a list of protocols', 'at least one protocol'),
			flag: 'protocol',
			kind: 'texts',
			argument: 'NAME',
			selection: true,
			defaultText: 'all',
			meaning: 'only this protocol, by name or number; repeatable',
		},
		mark: {
			schema: mark,
			flag: 'mark',
			kind: 'text',
			argument: 'VALUE/MASK',
			selection: true,
			meaning: 'only connections with `(mark & MASK) == VALUE`',
		},
		exclude: {
			schema: list(cidr, 'a list of networks'),
			flag: 'exclude',
			kind: 'texts',
			argument: 'CIDR',
			selection: true,
			meaning: 'leave out connections with either end inside; repeatable',
		},
		netns: {
			schema: netns,
			flag: 'netns',
			kind: 'text',
			argument: 'PATH|NAME|PID',
			selection: true,
			defaultText: "the agent's own",
			meaning: 'network namespace to read; one that is not there yet is waited for',
		},
		includeOwn: {
			schema: truth(),
			flag: 'include-own',
			kind: 'switch',
			default: false,
			meaning: "export the agent's own sessions too",
		},
		pollInterval: {
			schema: duration,
			flag: 'poll-interval',
			kind: 'text',
			argument: 'TIME',
			default: '5s',
			meaning: 'how often the table is read, at least `100ms`',
		},
		activeTimeout: {
			schema: duration,
			flag: 'active-timeout',
			kind: 'text',
			argument: 'TIME',
			default: '60s',
			defaultText: '`60s`; antrea: `5s`; a longer poll interval',
			meaning: 'how often a long-lived flow is reported',
		},
		idleTimeout: {
			schema: duration,
			flag: 'idle-timeout',
			kind: 'text',
			argument: 'TIME',
			default: '15s',
			defaultText: '`15s`; a longer poll interval',
			meaning: 'a flow that rests this long is reported',
		},
		staleTimeout: {
			schema: duration,
			flag: 'stale-timeout',
			kind: 'text',
			argument: 'TIME',
			default: '5m',
			meaning: 'an ended flow that nobody took for this long is given up and counted',
		},
		maxConnections: {
			schema: integer(1, 0xffff_fffe),
			flag: 'max-connections',
			kind: 'number',
			argument: 'N',
			defaultText: "twice the kernel's maximum, 65,536 to 1,000,000",
			meaning: 'size of the table',
		},
		whenFull: {
			schema: choice('reject-new', 'evict-idle'),
			flag: 'when-full',
			kind: 'text',
			argument: 'reject-new|evict-idle',
			default: 'reject-new',
			meaning: 'what a full table does',
		},
		initialDelta: {
			schema: choice('zero', 'total'),
			flag: 'initial-delta',
			kind: 'text',
			argument: 'zero|total',
			default: 'zero',
			meaning:
				'what the first record of a flow older than the agent has as deltas: nothing, or all that the kernel has counted',
		},
		stateFile: {
			schema: text('a path'),
			flag: 'state-file',
			kind: 'text',
			argument: 'FILE',
			meaning:
				'where what was exported outlives the agent: written every minute and at the stop, into a folder that must be there; after a crash, what was exported since is exported again',
		},
		observationDomain: {
			schema: integer(0, 0xffff_ffff),
			flag: 'observation-domain',
			kind: 'number',
			argument: 'N',
			default: 1,
			defaultText: "`1`; antrea: a hash (FNV-1) of the node's name",
			meaning: 'of flow records',
		},
		nodeName: {
			schema: text("the node's name"),
			flag: 'node-name',
			kind: 'text',
			argument: 'NAME',
			defaultText: "`NODE_NAME` of the environment, else the host's, and not told",
			meaning:
				'the node, told in `observationDomainName` of the standard profile; give each node an observation domain of its own beside it',
		},
		clusterName: {
			schema: text("the cluster's name"),
			flag: 'cluster-name',
			kind: 'text',
			argument: 'NAME',
			defaultText: 'not told',
			meaning: "the node's cluster, told in `clusterId` of the standard profile",
		},
		pods: {
			schema: namesSchema<PodInput>('pods'),
			flag: 'pods',
			kind: 'text',
			argument: 'FILE',
			meaning:
				"Pods that connections' ends are named by, until `setPods`: JSON or YAML, a list of `{ name, namespace, node, addresses, uid, startTime, egress }`, or in files and programs the list itself; with any source of names, an empty one too, records of the standard profile have elements for them; files of names are read again when they change",
		},
		services: {
			schema: namesSchema<ServiceInput>('services'),
			flag: 'services',
			kind: 'text',
			argument: 'FILE',
			meaning:
				'likewise what connections go to, until `setServices`: `{ name, namespace, portName, addresses, port, protocol }` for each port',
		},
		serviceMark: {
			schema: mark,
			flag: 'service-mark',
			kind: 'text',
			argument: 'VALUE/MASK',
			defaultText: "none: all connections to a Service's address; antrea: `0x10/0x10`",
			meaning: 'only connections with `(mark & MASK) == VALUE` go to Services',
		},
		policyRules: {
			schema: namesSchema<PolicyRuleInput>('policyRules'),
			flag: 'policy-rules',
			kind: 'text',
			argument: 'FILE',
			meaning:
				"likewise the rules of network policies whose numbers stand in connections' labels, until `setPolicyRules`: `{ number, name, namespace, type, rule, action }`",
		},
		networks: {
			schema: namesSchema<NetworkInput>('networks'),
			flag: 'networks',
			kind: 'text',
			argument: 'FILE',
			meaning:
				'likewise networks, which name the ends that are no Pods by the longest prefix, until `setNetworks`: `{ name, prefixes }`, or a file `.csv` with a line `PREFIX,NAME` for each',
		},
		podNetworks: {
			schema: list(cidr, 'a list of networks'),
			flag: 'pod-network',
			kind: 'texts',
			argument: 'CIDR',
			defaultText: 'none, and no flow is known to be external',
			meaning: "where the cluster's Pods have their addresses, for `flowType`; repeatable",
		},
		metrics: {
			schema: endpoint,
			flag: 'metrics',
			kind: 'text',
			argument: 'HOST:PORT',
			meaning: 'serve `/metrics`, `/healthz`, `/readyz`, `/status`',
		},
		metricsHosts: {
			schema: list(text('a host name'), 'a list of host names'),
			flag: 'metrics-host',
			kind: 'texts',
			argument: 'NAMES',
			meaning:
				'names under which `--metrics` may be asked, beside addresses, `localhost` and its own host; any other is refused, because a page of somewhere else may have made a browser ask (DNS rebinding)',
		},
		logLevel: {
			schema: choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
			flag: 'log-level',
			kind: 'text',
			argument: 'LEVEL',
			default: 'info',
			meaning: 'what goes to stderr: `trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`',
		},
		logFormat: {
			schema: choice('json', 'pretty'),
			flag: 'log-format',
			kind: 'text',
			argument: 'json|pretty',
			defaultText: '`pretty` on a terminal',
			meaning: 'how it is written',
		},
		window: {
			schema: integer(65_536, 1_073_741_824),
			default: 4_194_304,
			meaning: 'octets that may wait for acknowledgement on one session',
		},
		batchRecords: { schema: integer(1, 65_535), default: 1_024, meaning: 'records of one batch, at most' },
		gracePeriod: { schema: duration, default: '5s', meaning: 'how long a stop waits for what is unsettled' },
		maxPollShare: {
			schema: parsed<number, number>('a number above 0, at most 1', (value) =>
				typeof value === 'number' && value > 0 && value <= 1 ? value : undefined,
			),
			default: 0.2,
			meaning: 'greatest part of the time that polls may take',
		},
		pollRetryTimeout: {
			schema: duration,
			default: '5s',
			meaning: 'a dump without any progress for this long is incomplete',
		},
		eventBufferSize: {
			schema: integer(4_096, 1_073_741_824),
			default: 8_388_608,
			meaning: "with events: octets of the socket's receive buffer",
		},
		connectUplinkToBridge: {
			schema: truth(),
			default: false,
			meaning: 'antrea: the uplink is part of the bridge, which moves its zones',
		},
		ruleLabels: {
			schema: ruleLabels,
			parts: '{ ingress, egress }',
			defaultText: '`0-31` and `32-63`',
			meaning: "bits of connections' labels that carry the numbers of policy rules, as `FIRST-LAST`",
		},
	}) satisfies Record<Exclude<keyof ExporterOptions, 'signal'>, OptionRow>;

export type OptionTable = ReturnType<typeof optionTable>;
export type OptionName = keyof OptionTable;

/** What programs give: see pinned.ts. */
export type ShapeInput = { [K in OptionName]?: z.input<OptionTable[K]['schema']> | undefined };
/** Options that were checked: times in milliseconds, nothing filled in. */
export type Parsed = { [K in OptionName]?: z.output<OptionTable[K]['schema']> | undefined };
/** Options that always have a value. */
export type Defaulted =
	| { [K in OptionName]: OptionTable[K] extends { default: unknown } ? K : never }[OptionName]
	| 'zones'
	| 'families'
	| 'exclude'
	| 'podNetworks';
