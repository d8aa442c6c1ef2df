/** `collect`: the embedded collector alone. */
import { Collector, type CollectorOptions, parseLines } from '../collector/collector.ts';
import { AgentError } from '../errors.ts';
import { Output } from './output.ts';
import { onStopSignal } from './signals.ts';
import { writeStderr } from './stderr.ts';
import { Table } from './table.ts';

export interface CollectFlags {
	listen?: string[];
	read?: string[];
	count?: number;
	format: 'json' | 'table';
	options?: boolean;
	tlsCa?: string;
	tlsCert?: string;
	tlsKey?: string;
}

export async function collect(flags: CollectFlags): Promise<number> {
	const { tlsCa: ca, tlsCert: cert, tlsKey: key } = flags;
	const options: CollectorOptions = {
		listen: flags.listen ?? [],
		files: flags.read ?? [],
		optionsRecords: flags.options ?? false,
		...(ca !== undefined && { ca }),
		...(cert !== undefined && { cert }),
		...(key !== undefined && { key }),
	};
	const collector = new Collector(options);
	const say = (text: string) => writeStderr(`${text}\n`);
	let failed: string | undefined;
	collector.on('disconnect', ({ peer, transport, error }) => {
		if (error === null) return;
		say(`${transport} session of ${peer} closed: ${error}`);
		if (transport === 'file') failed = `${peer}: ${error}`;
	});
	collector.on('malformed', ({ peer, error }) => say(`datagram of ${peer} skipped: ${error}`));
	const stop = () => void collector.stop();
	const releaseSignals = onStopSignal(stop);
	await collector.start();
	for (const address of collector.addresses) say(`listening on ${address}`);

	const output = new Output(flags.count);
	let broken: unknown;
	output.gone.then(stop, (error: unknown) => {
		broken = error;
		stop();
	});
	const table = flags.format === 'table' ? new Table() : undefined;
	for await (const { json, records } of collector.chunks()) {
		const text = table === undefined ? json : table.lines(parseLines(json));
		if (!(await output.write(text, records))) break;
	}
	await collector.stop();
	releaseSignals();
	if (broken !== undefined) throw broken;
	if (failed !== undefined) throw new AgentError('ERR_MALFORMED', failed);
	return 0;
}
