/** What travels through a session: parcels of messages, and sums of the records in them. */
import type { NativeMessage } from '../core/native.ts';
import type { Amount } from '../types.ts';

export type { Amount };

/** The messages of one batch in one session's format. */
export interface Parcel {
	readonly messages: readonly NativeMessage[];
}

/** A message on its way: queued, then written, then settled. */
export interface Outgoing {
	readonly parcel: Parcel;
	readonly message: NativeMessage;
	/** Offset in the connection's stream at which it ends for certain. */
	end: number;
	/** Before this offset has left, the collector cannot have all of it. Ciphers and write calls put `end` later. */
	leastEnd: number;
	/** Set when the connection breaks: all of it was handed over, so that it may have arrived unacknowledged. */
	mayHaveArrived: boolean;
}

const HEADER_OCTETS = 16;

/** Octets of a message on the wire, before any cipher. */
export function sizeOf(message: NativeMessage): number {
	return message.body.length + HEADER_OCTETS;
}

export function nothing(): Amount {
	return { records: 0, packets: 0, octets: 0 };
}

export function add(sum: Amount, { records, packets, octets }: Amount): void {
	sum.records += records;
	sum.packets += packets;
	sum.octets += octets;
}
