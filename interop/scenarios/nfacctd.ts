/** The exporter's records over UDP in pmacct's nfacctd. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configuration, PRIMITIVES, readRows } from '../readers/nfacctd.ts';
import { exportTraffic, PORT } from '../support/agent.ts';
import { datagramsRead, Program } from '../support/program.ts';
import { finish, temporaryFolder } from '../support/report.ts';
import { prepare } from '../support/traffic.ts';

prepare();
const folder = temporaryFolder();
const [primitives, config, rows] = ['primitives', 'nfacctd.conf', 'rows.json'].map((name) =>
	join(folder, name),
);
if (primitives === undefined || config === undefined || rows === undefined) throw new Error('unreachable');
writeFileSync(primitives, PRIMITIVES);
writeFileSync(config, configuration(PORT, primitives, rows));
const nfacctd = new Program('nfacctd', ['-f', config]);
await nfacctd.listens('udp', PORT);
// Its plugin is a process of its own, which must be there before the first record.
await nfacctd.printed(/JSON: setting object handlers/);
const exported = await exportTraffic('--collector', `udp://127.0.0.1:${PORT}`);
await datagramsRead(PORT);
// The plugin writes what it has when it is asked to end.
await nfacctd.ended('SIGINT');
const complaints = nfacctd.stderr.split('\n').filter((line) => /WARN|ERROR|malformed/.test(line));
finish({ ...exported, records: readRows(readFileSync(rows, 'utf8')), nfacctd: complaints });
