/** The flags of `run`, and which of them `dump` takes too. Environment variables have the same names. */
import type { OptionsInput } from '../options/options.ts';

export type Kind = 'text' | 'number' | 'switch' | 'texts' | 'numbers';

export interface Flag {
	option: keyof OptionsInput;
	/** Without the two dashes. */
	name: string;
	kind: Kind;
	argument?: string;
	help: string;
	/** Part of what `dump` takes too. */
	selection?: true;
}

export const FLAGS: readonly Flag[] = [
	{
		option: 'collectors',
		name: 'collector',
		kind: 'texts',
		argument: 'URL',
		help: 'tcp://HOST[:4739], udp://HOST[:4739], tls://HOST[:4740] or file:PATH; repeatable',
	},
	{
		option: 'tlsCa',
		name: 'tls-ca',
		kind: 'text',
		argument: 'FILE',
		help: "authorities that collectors' certificates come from (PEM)",
	},
	{
		option: 'tlsCert',
		name: 'tls-cert',
		kind: 'text',
		argument: 'FILE',
		help: "the agent's certificate chain (PEM)",
	},
	{ option: 'tlsKey', name: 'tls-key', kind: 'text', argument: 'FILE', help: 'its private key (PEM)' },
	{
		option: 'tlsServerName',
		name: 'tls-server-name',
		kind: 'text',
		argument: 'NAME',
		help: "name in the collector's certificate (default: the URL's host)",
	},
	{
		option: 'delivery',
		name: 'delivery',
		kind: 'text',
		argument: 'MODE',
		help: 'failover or all (default: failover)',
	},
	{
		option: 'profile',
		name: 'profile',
		kind: 'text',
		argument: 'NAME',
		help: 'standard or antrea (default: standard)',
	},
	{
		option: 'fields',
		name: 'fields',
		kind: 'texts',
		argument: 'NAMES',
		help: 'elements of a record, in order, with commas between',
	},
	{
		option: 'source',
		name: 'source',
		kind: 'text',
		argument: 'NAME',
		help: 'poll or events (default: poll)',
	},
	{
		option: 'resyncInterval',
		name: 'resync-interval',
		kind: 'text',
		argument: 'TIME',
		help: 'with events: how often the table is read all the same (default: 5m)',
	},
	{
		option: 'zones',
		name: 'zone',
		kind: 'numbers',
		argument: 'N',
		help: 'only this conntrack zone; repeatable; 0 is zone 0 only (default: all; antrea: 65520 and 65510)',
		selection: true,
	},
	{
		option: 'families',
		name: 'family',
		kind: 'texts',
		argument: 'NAME',
		help: 'only ipv4 or only ipv6',
		selection: true,
	},
	{
		option: 'protocols',
		name: 'protocol',
		kind: 'texts',
		argument: 'NAME',
		help: 'only this protocol; repeatable',
		selection: true,
	},
	{
		option: 'mark',
		name: 'mark',
		kind: 'text',
		argument: 'VALUE/MASK',
		help: 'only connections with (mark & MASK) == VALUE',
		selection: true,
	},
	{
		option: 'exclude',
		name: 'exclude',
		kind: 'texts',
		argument: 'CIDR',
		help: 'leave out connections with either end inside; repeatable',
		selection: true,
	},
	{
		option: 'netns',
		name: 'netns',
		kind: 'text',
		argument: 'PATH|NAME|PID',
		help: 'network namespace to read',
		selection: true,
	},
	{ option: 'includeOwn', name: 'include-own', kind: 'switch', help: "export the agent's own sessions too" },
	{
		option: 'pollInterval',
		name: 'poll-interval',
		kind: 'text',
		argument: 'TIME',
		help: 'how often the table is read (default: 5s)',
	},
	{
		option: 'activeTimeout',
		name: 'active-timeout',
		kind: 'text',
		argument: 'TIME',
		help: 'how often a long-lived connection is reported (default: 60s; antrea: 5s)',
	},
	{
		option: 'idleTimeout',
		name: 'idle-timeout',
		kind: 'text',
		argument: 'TIME',
		help: 'a connection that rests this long is reported (default: 15s)',
	},
	{
		option: 'staleTimeout',
		name: 'stale-timeout',
		kind: 'text',
		argument: 'TIME',
		help: 'an ended connection is given up after this time (default: 5m)',
	},
	{
		option: 'maxConnections',
		name: 'max-connections',
		kind: 'number',
		argument: 'N',
		help: "size of the table (default: twice the kernel's maximum, 65536 to 1000000)",
	},
	{
		option: 'whenFull',
		name: 'when-full',
		kind: 'text',
		argument: 'POLICY',
		help: 'reject-new or evict-idle (default: reject-new)',
	},
	{
		option: 'initialDelta',
		name: 'initial-delta',
		kind: 'text',
		argument: 'DELTA',
		help: 'zero or total, for connections older than the agent (default: zero)',
	},
	{
		option: 'stateFile',
		name: 'state-file',
		kind: 'text',
		argument: 'FILE',
		help: 'where exported counters outlive the agent',
	},
	{
		option: 'observationDomain',
		name: 'observation-domain',
		kind: 'number',
		argument: 'N',
		help: "observation domain of flow records (default: 1; antrea: a hash of the node's name)",
	},
	{
		option: 'metrics',
		name: 'metrics',
		kind: 'text',
		argument: 'HOST:PORT',
		help: 'serve /metrics, /healthz, /readyz and /status',
	},
	{
		option: 'logLevel',
		name: 'log-level',
		kind: 'text',
		argument: 'LEVEL',
		help: 'trace, debug, info, warn, error, fatal or silent (default: info)',
	},
	{
		option: 'logFormat',
		name: 'log-format',
		kind: 'text',
		argument: 'FORMAT',
		help: 'json or pretty (default: pretty on a terminal)',
	},
];
