/**
 * The compiled core. Loaded when first needed, so that `--help` and a wrong option cost nothing and a missing
 * platform package is reported as what it is.
 */
import { createRequire } from 'node:module';
import type * as Native from '../../binding/native.cjs';
import { AgentError, messageOf } from '../errors.ts';

export type {
	NativeBatch,
	NativeConfig,
	NativeFormat,
	NativeLoss,
	NativeMessage,
	NativeNotice,
	NativeOwnSession as OwnSession,
	NativeProgress,
	NativeSelection,
	NativeStats,
} from '../../binding/native.cjs';

export type NativeModule = typeof Native;
export type NativeExporter = Native.NativeExporter;
export type NativeSession = Native.NativeSession;
export type NativeNames = Native.NativeNames;
export type NativeDecoder = Native.NativeDecoder;
export type NativeSocket = Native.NativeSocket;
export type NativeDatagramSocket = Native.NativeDatagramSocket;
export type NativeLookup = Native.NativeLookup;

let loaded: NativeModule | undefined;

export function native(): NativeModule {
	loaded ??= load();
	return loaded;
}

function load(): NativeModule {
	if (process.platform !== 'linux') {
		throw new AgentError(
			'ERR_PLATFORM',
			`conntrack-ipfix reads Linux's connection tracking and cannot run on ${process.platform}`,
		);
	}
	try {
		// The same relative path holds from lib/core/ and from dist/core/.
		return createRequire(import.meta.url)('../../binding/native.cjs') as NativeModule;
	} catch (cause) {
		throw new AgentError(
			'ERR_NATIVE',
			`the native addon for linux-${process.arch} could not be loaded: reinstall conntrack-ipfix with its optional ` +
				`dependencies, or run "npm run build:native" in a clone (${messageOf(cause).split('\n', 1)[0]})`,
			{ cause },
		);
	}
}
