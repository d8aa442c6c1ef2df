/**
 * `--print-config`: the options as they will be used, as a configuration file that says the same. A comment at each says where its
 * value came from. A private key that was given as text is not shown, so that such a file has to be completed before it is used.
 */
import { Document, isCollection, isMap, isPair, isScalar, type Node, type Scalar } from 'yaml';
import { isDuration } from '../options/checks.ts';
import { formatDuration } from '../options/duration.ts';
import { type CollectorSettings, type Resolved, ROWS, type Settings } from '../options/options.ts';
import { HIDDEN, holdsPrivateKey } from '../options/secrets.ts';
import { formatEndpoint, formatTarget } from '../options/target.ts';
import { COLLECTOR_ROWS, isUsedBy } from '../options/target_settings.ts';
import { formatLabels, formatMark } from '../options/values.ts';

type Rows = Readonly<Record<string, { schema: unknown }>>;

export function configText({ settings, origins, collectorOrigins }: Resolved): string {
	const { collectors } = settings;
	const document = new Document({ collectors: collectors.map(plainCollector), ...plainOptions(settings) });
	annotate(document.contents, origins);
	const list = document.get('collectors');
	if (isCollection(list)) {
		for (const [index, item] of list.items.entries()) annotate(item, collectorOrigins[index] ?? {});
	}
	return document.toString({ lineWidth: 0 });
}

/** Says behind each value where it came from; before it, where it takes several lines. */
function annotate(map: unknown, origins: Readonly<Record<string, string>>): void {
	if (!isMap<Scalar, Node>(map)) return;
	for (const { key, value } of map.items) {
		const origin = origins[String(key.value)];
		if (origin === undefined || value === null) continue;
		if (isInOneLine(value)) {
			if (isCollection(value)) value.flow = true;
			value.comment = ` ${origin}`;
		} else {
			key.commentBefore = ` ${origin}`;
		}
	}
}

function isInOneLine(value: unknown): boolean {
	if (isScalar(value)) return typeof value.value !== 'string' || !value.value.includes('\n');
	if (!isCollection(value)) return false;
	return value.items.every((item) => isScalar(item) || (isPair(item) && isScalar(item.value)));
}

function plainOptions({ collectors: _, metrics, mark, serviceMark, ruleLabels, ...rest }: Settings) {
	return {
		...plainValues(rest, ROWS),
		...(mark && { mark: formatMark(mark) }),
		...(serviceMark && { serviceMark: formatMark(serviceMark) }),
		...(ruleLabels && { ruleLabels: formatLabels(ruleLabels) }),
		...(metrics && { metrics: formatEndpoint(metrics.host, metrics.port) }),
	};
}

function plainCollector({ target, reconnect, rotate, ...rest }: CollectorSettings) {
	const used = Object.fromEntries(Object.entries(rest).filter(([option]) => isUsedBy(option, target.kind)));
	return {
		url: formatTarget(target),
		...plainValues(used, COLLECTOR_ROWS),
		reconnect: { initial: formatDuration(reconnect.initial), max: formatDuration(reconnect.max) },
		...(rotate && {
			rotate: {
				...(rotate.size !== undefined && { size: rotate.size }),
				...(rotate.interval !== undefined && { interval: formatDuration(rotate.interval) }),
			},
		}),
	};
}

function plainValues(values: object, rows: Rows): Record<string, unknown> {
	return Object.fromEntries(
		Object.entries(values)
			.filter(([, value]) => value !== undefined)
			.map(([name, value]) => [name, plainValue(value, isDuration(rows[name]?.schema))]),
	);
}

function plainValue(value: unknown, isTime: boolean): unknown {
	if (isTime) return formatDuration(value as number);
	return typeof value === 'string' && holdsPrivateKey(value) ? HIDDEN : value;
}
