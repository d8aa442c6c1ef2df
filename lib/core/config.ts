/** What the core needs of the options. */

import type { Settings } from '../options/options.ts';
import type { NativeConfig } from './native.ts';
import { selectionOf } from './selection.ts';

export function nativeConfig(settings: Settings): NativeConfig {
	const { maxConnections, stateFile, serviceMark, ruleLabels, nodeName, clusterName } = settings;
	return {
		selection: selectionOf(settings),
		source: settings.source,
		activeTimeout: settings.activeTimeout,
		idleTimeout: settings.idleTimeout,
		staleTimeout: settings.staleTimeout,
		whenFull: settings.whenFull,
		initialDelta: settings.initialDelta,
		pollRetryTimeout: settings.pollRetryTimeout,
		secondsEndMonotonic: settings.profile === 'antrea',
		eventBufferSize: settings.eventBufferSize,
		podNetworks: settings.podNetworks,
		pollInterval: settings.pollInterval,
		...(serviceMark !== undefined && { serviceMark }),
		...(ruleLabels !== undefined && { ruleLabels }),
		...(nodeName !== undefined && { nodeName }),
		...(clusterName !== undefined && { clusterName }),
		...(maxConnections !== undefined && { maxConnections }),
		...(stateFile !== undefined && { stateFile }),
	};
}
