import { createSocket, Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { temporaryFolder } from './support/folder.ts';
import { until } from './support/kernel.ts';
import { openedSession as opened, parcel } from './support/lone_session.ts';

test.serial(
	'a datagram whose fate is unknown when the session breaks may come twice, one that is refused not',
	async (t) => {
		const send = Socket.prototype.send;
		t.teardown(() => {
			Socket.prototype.send = send;
		});
		const receiver = createSocket('udp4').bind(0, '127.0.0.1');
		t.teardown(() => receiver.close());
		await once(receiver, 'listening');
		const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
		for (const [answered, repeats] of [
			[true, 0],
			[false, 7],
		] as const) {
			const session = await opened(`udp://127.0.0.1:${receiver.address().port}`);
			await new Promise((resolve) => setTimeout(resolve, 50));
			Socket.prototype.send = function (this: Socket, _: unknown, callback: (error: Error) => void) {
				if (answered) callback(refused);
				else this.emit('error', refused);
			} as unknown as typeof send;
			session.send(parcel());
			Socket.prototype.send = send;
			t.is(session.state, 'backoff');
			t.is(session.stats().duplicateRecords, repeats);
			session.close();
		}
	},
);

test.serial(
	'what a file was given when the session breaks may be in it, what could not be written is not',
	async (t) => {
		const folder = temporaryFolder('handed');
		const handle = await open(join(folder, 'any'), 'w');
		const prototype = Object.getPrototypeOf(handle) as { write: unknown; datasync: unknown };
		await handle.close();
		const { write, datasync } = prototype;
		t.teardown(() => Object.assign(prototype, { write, datasync }));
		const failing = () => Promise.reject(new Error('broken disk'));
		mkdirSync(join(folder, 'failed'));
		const failed = await opened(`file:${join(folder, 'failed', 'flows.ipfix')}`);
		prototype.write = failing;
		failed.send(parcel());
		await until('it has failed', () => failed.state === 'backoff');
		t.is(failed.stats().duplicateRecords, 0);
		failed.close();
		prototype.write = write;
		// The first one is written; while the second one is being written, the first cannot be forced to the disk.
		const url = `file:${join(folder, 'flows.ipfix')}`;
		const cut = await opened({ url, flushInterval: 50 });
		await until('the templates are written', () => cut.stats().sentBytes > 0);
		const sent = cut.stats().sentBytes;
		prototype.datasync = failing;
		cut.send(parcel());
		await until('the first is written', () => cut.stats().sentBytes > sent);
		prototype.write = () => new Promise(() => undefined);
		cut.send(parcel());
		await until('it has failed', () => cut.state === 'backoff');
		t.is(cut.stats().duplicateRecords, 14);
		cut.close();
	},
);
