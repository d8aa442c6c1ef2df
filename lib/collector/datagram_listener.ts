/** IPFIX over UDP: each datagram is one message, each sender a session of its own. */
import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { formatEndpoint, formatTarget, type NetworkTarget } from '../options/target.ts';
import { addressToBind, cannotListen } from '../transport/listen.ts';
import type { Intake } from './intake.ts';
import { Session } from './session.ts';
import type { Source } from './source.ts';

/** `where`: the option that asks for it. Rejects with the system's code. */
export async function listenOnDatagrams(
	target: NetworkTarget,
	where: string,
	intake: Intake,
	signal: AbortSignal,
): Promise<Source> {
	const address = await addressToBind(target.host, where, signal);
	const socket = createSocket({ type: isIPv6(address) ? 'udp6' : 'udp4' });
	const sessions = new Map<string, Session>();
	socket.on('message', (datagram, { address, port }) => {
		const peer = formatEndpoint(address, port);
		if (intake.full) {
			intake.dropped(peer);
			return;
		}
		const known = sessions.get(peer);
		if (known !== undefined) {
			intake.take(known, datagram);
			return;
		}
		const session = new Session('udp', peer, intake.settings, () => sessions.delete(peer));
		if (intake.takeFirst(session, datagram, address, port)) sessions.set(peer, session);
	});
	await new Promise<void>((resolve, reject) => {
		const fail = (cause: Error) => {
			socket.close();
			reject(cannotListen(cause, where));
		};
		socket.once('error', fail);
		socket.bind({ address, port: target.port }, () => {
			socket.off('error', fail);
			resolve();
		});
	});
	socket.on('error', (error) => intake.listenerFailed(formatTarget(target), error));
	return {
		address: { ...target, port: socket.address().port },
		// A sender cannot be held back.
		pause: () => undefined,
		resume: () => undefined,
		close: () =>
			new Promise((resolve) => {
				for (const session of [...sessions.values()]) intake.closed(session);
				sessions.clear();
				socket.close(() => resolve());
			}),
	};
}
