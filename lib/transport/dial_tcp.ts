/** TCP connections to collectors. */
import { connect, type Socket } from 'node:net';
import type { OwnSession } from '../core/native.ts';
import { toError } from '../errors.ts';
import { explain, TO_ITSELF } from './reasons.ts';
import type { Address } from './resolve.ts';
import type { SessionHost } from './session_host.ts';

const KEEP_ALIVE_MS = 30_000;
const TCP = 6;

/**
 * One TCP connection to one literal address. Its endpoints are registered as the agent's own before the first
 * packet can have been answered, and until it is closed.
 */
export function dialTcp(
	{ address, family }: Address,
	port: number,
	timeout: number,
	signal: AbortSignal,
	host: Pick<SessionHost, 'addOwn' | 'removeOwn' | 'window'>,
): Promise<Socket> {
	return new Promise((resolve, reject) => {
		const options = {
			host: address,
			port,
			family,
			noDelay: true,
			keepAlive: true,
			keepAliveInitialDelay: KEEP_ALIVE_MS,
			writableHighWaterMark: host.window,
		};
		const socket = connect(options);
		const abort = () => socket.destroy(new Error('given up'));
		const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${timeout} ms`)), timeout);
		const settled = () => {
			clearTimeout(timer);
			signal.removeEventListener('abort', abort);
		};
		let own: OwnSession | undefined;
		// Node connects to a literal address in the next tick: earlier the socket has no local port to register.
		process.nextTick(() => {
			const { localAddress, localPort } = socket;
			if (localAddress === undefined || localPort === undefined) return;
			const mine = { protocol: TCP, localAddress, localPort, remoteAddress: address, remotePort: port };
			try {
				host.addOwn(mine);
				own = mine;
			} catch (error) {
				socket.destroy(toError(error));
			}
		});
		signal.addEventListener('abort', abort);
		if (signal.aborted) abort();
		socket.once('error', (error) => {
			settled();
			reject(new Error(explain(error), { cause: error }));
		});
		socket.once('close', () => {
			settled();
			if (own !== undefined) host.removeOwn(own);
			reject(new Error('closed'));
		});
		socket.once('connect', () => {
			settled();
			if (socket.localPort === port && socket.localAddress === address) socket.destroy(new Error(TO_ITSELF));
			else resolve(socket);
		});
	});
}
