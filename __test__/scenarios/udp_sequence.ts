/** The first datagrams of a UDP session, as they arrive. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { FlowExporter } from '../../lib/index.ts';
import { track, until } from '../support/kernel.ts';
import { report } from '../support/report.ts';

track();
const socket = createSocket('udp4').bind(0, '127.0.0.1');
await once(socket, 'listening');
const datagrams: Buffer[] = [];
socket.on('message', (datagram) => datagrams.push(datagram));
const exporter = new FlowExporter({ collectors: [`udp://127.0.0.1:${socket.address().port}`] });
await exporter.start();
await until('the session is open', () => exporter.stats().collectors[0]?.state === 'open');
await until('templates and options came twice', () => datagrams.length >= 4);
await exporter.stop();
report(datagrams.map((datagram) => datagram.toString('hex')));
