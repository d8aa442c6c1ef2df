/** The exporter's records over UDP in nfdump's nfcapd. */
import { readFolder, toReadRecord } from '../readers/nfdump.ts';
import { exportTraffic, PORT } from '../support/agent.ts';
import { datagramsRead, Program } from '../support/program.ts';
import { finish, temporaryFolder } from '../support/report.ts';
import { prepare } from '../support/traffic.ts';

prepare();
const folder = temporaryFolder();
const nfcapd = new Program('nfcapd', ['-b', '127.0.0.1', '-p', String(PORT), '-w', folder, '-t', '60']);
await nfcapd.listens('udp', PORT);
const exported = await exportTraffic('--collector', `udp://127.0.0.1:${PORT}`);
await datagramsRead(PORT);
// It writes its file when it ends.
await nfcapd.succeeded('SIGTERM');
const records = (await readFolder(folder)).map(toReadRecord);
finish({ ...exported, records, statistics: /^Ident:.*$/m.exec(nfcapd.stderr)?.[0] });
