/** `tshark.ts udp|tcp`: a session of the exporter captured on loopback and read by tshark. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { readCapture } from '../readers/tshark.ts';
import { exportTraffic, PORT } from '../support/agent.ts';
import { Capture } from '../support/capture.ts';
import { finish } from '../support/report.ts';
import { prepare } from '../support/traffic.ts';

const protocol = process.argv[2] === 'tcp' ? 'tcp' : 'udp';
prepare();
const capture = await Capture.start(`port ${PORT}`);
// What receives the session does not matter: tshark reads what went over the wire.
const sink =
	protocol === 'tcp'
		? createServer((socket) => socket.on('error', () => undefined).resume()).listen(PORT, '127.0.0.1')
		: createSocket('udp4').bind(PORT, '127.0.0.1');
await once(sink, 'listening');
const exported = await exportTraffic('--collector', `${protocol}://127.0.0.1:${PORT}`);
await capture.end();
finish({ ...exported, ...(await readCapture(capture.file, protocol, PORT)) });
