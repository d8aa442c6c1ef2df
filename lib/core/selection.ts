/** Which connections, as the core takes it. */

import type { Settings } from '../options/options.ts';
import type { NativeSelection } from './native.ts';

export function selectionOf(settings: Settings): NativeSelection {
	const { families, zones, exclude, protocols, mark, netns } = settings;
	return {
		families,
		zones,
		exclude,
		...(protocols !== undefined && { protocols }),
		...(mark !== undefined && { mark }),
		...(netns !== undefined && { netns }),
	};
}
