/** A session by itself: what it needs of an exporter, which does nothing, and what it tells, which is written down. */
import type { NativeSession } from '../../lib/core/native.ts';
import { type CollectorSettings, resolveOptions } from '../../lib/options/options.ts';
import { createSession } from '../../lib/transport/create.ts';
import type { Parcel } from '../../lib/transport/parcel.ts';
import type { Session } from '../../lib/transport/session.ts';
import type { SessionHost, SessionListener } from '../../lib/transport/session_host.ts';
import type { CollectorInput } from '../../lib/types.ts';
import { until } from './kernel.ts';

const nothing = () => undefined;
/** Octets of the templates that a connection begins with. */
export const TEMPLATES = 100;

/** Templates are a message of zeroes, data a header of zeroes; `sizes`: the formats that were asked for. */
export function loneHost(given: Partial<SessionHost> = {}): SessionHost & { sizes: number[] } {
	const sizes: number[] = [];
	return {
		sizes,
		format: (size) => sizes.push(size),
		wire: () =>
			({
				templates: () => Buffer.alloc(TEMPLATES),
				header: () => Buffer.alloc(16),
				options: () => Buffer.alloc(0),
			}) as unknown as NativeSession,
		addOwn: nothing,
		removeOwn: nothing,
		coreFailed: nothing,
		losses: () => ({ records: 0, packets: 0, octets: 0, from: 0, to: 0 }),
		window: 1_048_576,
		...given,
	};
}

/** Rolls back whatever fails: its records come again. `told`: what was heard, in order. */
export function loneListener(given: Partial<SessionListener> = {}): SessionListener & { told: string[] } {
	const told: string[] = [];
	return {
		told,
		opened: () => told.push('opened'),
		broken: (_session, reason) => told.push(`broken: ${reason}`),
		stalled: () => told.push('stalled'),
		room: nothing,
		settled: () => told.push('settled'),
		failed: (session, parcel) => session.discard(parcel),
		warned: (_session, { code }) => told.push(`warned: ${code}`),
		reloaded: nothing,
		...given,
	};
}

export function parcel(records = 7): Parcel {
	return { messages: [{ body: Buffer.alloc(100), records, packets: records, octets: 100 * records }] };
}

export function settingsOf(collector: CollectorInput): CollectorSettings {
	const { collectors } = resolveOptions(
		[{ values: { collectors: [collector] }, nameOf: (option) => option }],
		'javascript',
	);
	const [settings] = collectors;
	if (settings === undefined) throw new Error('one collector was given');
	return settings;
}

export async function openedSession(
	collector: CollectorInput,
	host: SessionHost = loneHost(),
	listener: SessionListener = loneListener(),
): Promise<Session> {
	const session = createSession(settingsOf(collector), host, listener);
	session.start();
	await until('it is open', () => session.state === 'open');
	return session;
}
