/** What a session needs of the exporter that it serves, and what it tells: its state, its counts, what happens to it. */
import type { NativeSession, OwnSession } from '../core/native.ts';
import type { Amount, Parcel } from './parcel.ts';
import type { Session } from './session.ts';

export type { SessionState, SessionStats } from '../types.ts';

export interface SessionHost {
	/** The number of the compiled format with this message size. */
	format(maxMessageSize: number): number;
	/** Header, template and options octets of one connection; sequence numbers begin at 0. */
	wire(format: number): NativeSession;
	addOwn(own: OwnSession): void;
	removeOwn(own: OwnSession): void;
	/** The core refused a call that must not fail. */
	coreFailed(error: Error): void;
	/** What options records say of the whole exporter. */
	losses(): Amount & { from: number; to: number };
	/** Octets that one session may hold unsettled. */
	readonly window: number;
}

export interface SessionListener {
	opened(session: Session): void;
	/** `retryInMs` null: it was closed on purpose. */
	broken(session: Session, reason: string, retryInMs: number | null): void;
	/** It has taken nothing for a second, and does not before all is settled or it has moved. */
	stalled(session: Session): void;
	/** It may take a parcel again. */
	room(session: Session): void;
	settled(session: Session, parcel: Parcel): void;
	failed(session: Session, parcel: Parcel): void;
	/** Something to know that the session lives with. */
	warned(session: Session, warning: { code: string; message: string }): void;
	/** Certificates as they are now are used, or will be by the next connection; or `problem` says why not. */
	reloaded(session: Session, problem: string | null): void;
}
