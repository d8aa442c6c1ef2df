/**
 * The file descriptor below a socket of Node, which Node has no public way to ask for. It is only ever duplicated,
 * in the same turn, by `NativeSocket`.
 */
import type { Socket as DatagramSocket } from 'node:dgram';
import type { Socket } from 'node:net';

interface Handle {
	readonly fd: number;
}

/** Throws when the socket is not open any more. */
export function descriptorOf(socket: Socket): number {
	return fdOf((socket as unknown as { _handle: Handle | null })._handle);
}

/** The same for a datagram socket, which keeps its handle under a symbol (its `_handle` warns of deprecation). */
export function datagramDescriptorOf(socket: DatagramSocket): number {
	const symbol = Object.getOwnPropertySymbols(socket).find((key) => key.description === 'state symbol');
	const state =
		symbol === undefined
			? undefined
			: (socket as unknown as Record<symbol, { handle: Handle | null }>)[symbol];
	return fdOf(state?.handle ?? null);
}

function fdOf(handle: Handle | null): number {
	if (handle === null || !Number.isInteger(handle.fd) || handle.fd < 0)
		throw new Error('the socket is closed');
	return handle.fd;
}
