/** `--print-config`: the options as they will be used, as a configuration file that says the same. */

import { formatDuration } from '../options/duration.ts';
import type { CollectorSettings, Settings } from '../options/options.ts';
import { isPemText } from '../options/pem.ts';
import { formatEndpoint, formatTarget } from '../options/target.ts';
import { isUsedBy } from '../options/target_settings.ts';

const DURATIONS: ReadonlySet<string> = new Set([
	'pollInterval',
	'resyncInterval',
	'activeTimeout',
	'idleTimeout',
	'staleTimeout',
	'pollRetryTimeout',
	'gracePeriod',
	'connectTimeout',
	'stallTimeout',
	'templateRefresh',
	'flushInterval',
	'initial',
	'max',
	'interval',
]);

export async function configText(settings: Settings): Promise<string> {
	const { stringify } = await import('yaml');
	const { collectors, metrics, mark, ...rest } = settings;
	return stringify({
		collectors: collectors.map(plainCollector),
		...durations(rest),
		...(mark && { mark: `0x${mark.value.toString(16)}/0x${mark.mask.toString(16)}` }),
		...(metrics && { metrics: formatEndpoint(metrics.host, metrics.port) }),
	});
}

function plainCollector({ target, reconnect, rotate, key, ...rest }: CollectorSettings) {
	const used = Object.fromEntries(Object.entries(rest).filter(([option]) => isUsedBy(option, target.kind)));
	return {
		url: formatTarget(target),
		...durations(used),
		// A key given as text is nobody's to read.
		...(key !== undefined && { key: isPemText(key) ? '(given as text)' : key }),
		reconnect: durations(reconnect),
		...(rotate && { rotate: durations(rotate) }),
	};
}

function durations(values: object): Record<string, unknown> {
	return Object.fromEntries(
		Object.entries(values)
			.filter(([, value]) => value !== undefined)
			.map(([name, value]) => [name, DURATIONS.has(name) ? formatDuration(value as number) : value]),
	);
}
