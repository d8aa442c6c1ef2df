/** Which elements say what connections are called, and whether records have them. */
import type { NamesKind } from './sets.ts';

const END_ELEMENTS = ['source', 'destination'].flatMap((end) =>
	['PodName', 'PodNamespace', 'NodeName'].map((name) => end + name),
);

/** What is there to name, and the elements that tell of it; one of them is enough. */
const ELEMENTS: Readonly<Record<NamesKind, { what: string; elements: readonly string[] }>> = {
	pods: { what: 'Pods', elements: END_ELEMENTS },
	services: { what: 'Services', elements: ['destinationServicePortName'] },
	policyRules: {
		what: 'policy rules',
		elements: ['ingress', 'egress'].flatMap((direction) =>
			['Name', 'Namespace', 'Type', 'RuleName', 'RuleAction'].map(
				(part) => `${direction}NetworkPolicy${part}`,
			),
		),
	},
	networks: { what: 'networks', elements: ['sourcePodName', 'destinationPodName'] },
};

/** Options that give the standard profile's records elements for names. */
export interface NamesOptions {
	profile: 'standard' | 'antrea';
	fields?: readonly string[] | undefined;
	pods?: unknown;
	services?: unknown;
	policyRules?: unknown;
	networks?: unknown;
	podNetworks: readonly string[];
}

/**
 * Whether records have elements for names: always in the antrea profile; in the standard one when a source was configured, be it
 * an empty one. What `fields` selects is its own affair.
 */
export function haveNames(settings: NamesOptions): boolean {
	const { profile, pods, services, policyRules, networks, podNetworks } = settings;
	const sources = [pods, services, policyRules, networks];
	return profile === 'antrea' || podNetworks.length > 0 || sources.some((source) => source !== undefined);
}

/** Whether records have an element for names of this kind. */
export function canName(kind: NamesKind, settings: NamesOptions): boolean {
	const { profile, fields } = settings;
	if (profile === 'antrea' || fields === undefined) return haveNames(settings);
	return fields.some((name) => ELEMENTS[kind].elements.includes(name));
}

/** What is missing among `fields` that select no such element. */
export function expectedFields(kind: NamesKind): string {
	const { what, elements } = ELEMENTS[kind];
	return `one of ${elements.join(', ')} among them, because there are ${what} to name`;
}

/** What is missing where no source is configured. */
export function expectedOption(kind: NamesKind): string {
	const setter = `set${kind.charAt(0).toUpperCase()}${kind.slice(1)}()`;
	return `the option ${kind}, such as ${kind}: [], before ${setter}: without it records of the standard profile have no elements for names`;
}
