/** `collect`: the embedded collector alone. */
import { Collector, type CollectorOptions, parseLines } from '../collector/collector.ts';
import { losses } from '../collector/ledger.ts';
import { AgentError, codeOf, messageOf, OptionError } from '../errors.ts';
import { within } from '../exporter/time_limit.ts';
import { DURATION_SYNTAX, parseDuration } from '../options/duration.ts';
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
	largeNumbers?: 'number' | 'text';
	maxSessions?: number;
	idleTimeout?: string;
	tlsCa?: string;
	tlsCert?: string;
	tlsKey?: string;
}

/** How long what was received is printed on after a stop, before it is given up. */
const GRACE_MS = 5_000;

const FLAG_OF: Readonly<Record<string, string>> = {
	listen: '--listen',
	files: '--read',
	optionsRecords: '--options',
	largeNumbers: '--large-numbers',
	maxSessions: '--max-sessions',
	idleTimeout: '--idle-timeout',
	ca: '--tls-ca',
	cert: '--tls-cert',
	key: '--tls-key',
};

export async function collect(flags: CollectFlags): Promise<number> {
	const collector = named(() => new Collector(optionsOf(flags)));
	const say = (text: string) => writeStderr(`${text}\n`);
	collector.on('warning', ({ message }) => say(message));
	let stop: () => void = () => undefined;
	const asked = new Promise<void>((resolve) => {
		stop = resolve;
	});
	const releaseSignals = onStopSignal(stop);
	const renew = () => void collector.renewCertificates();
	process.on('SIGHUP', renew);
	const started = collector.start().catch((error: unknown) => {
		throw renamed(error);
	});
	// A name server or a disk that does not answer holds up the start, not its end.
	const stopped = await Promise.race([started, asked.then(() => true as const)]);
	if (stopped === true) {
		await collector.stop();
		return 0;
	}
	for (const address of collector.addresses) say(`listening on ${address}`);

	const output = new Output(flags.count);
	let failure: unknown;
	const fail = (error: unknown) => {
		failure ??= error;
		stop();
	};
	output.gone.then(stop, fail);
	const printing = print(collector, output, flags).then(stop, fail);
	await asked;
	await collector.stop();
	if (!(await within(GRACE_MS, printing))) {
		say('nobody reads stdout: records that were not printed yet are given up');
		output.abandon();
	}
	releaseSignals();
	process.off('SIGHUP', renew);
	const missed = losses(collector.stats());
	if (missed !== undefined) say(`in all: ${missed}`);
	if (failure !== undefined) throw failure;
	return 0;
}

async function print(collector: Collector, output: Output, { format }: CollectFlags): Promise<void> {
	const table = format === 'table' ? new Table() : undefined;
	for await (const { json, records } of collector.chunks()) {
		const text = table === undefined ? json : table.lines(parseLines(json));
		if (!(await output.write(text, records))) break;
	}
}

function optionsOf(flags: CollectFlags): CollectorOptions {
	return {
		listen: flags.listen,
		files: flags.read,
		optionsRecords: flags.options,
		largeNumbers: flags.largeNumbers,
		maxSessions: flags.maxSessions,
		idleTimeout: withUnit('idleTimeout', flags.idleTimeout),
		ca: flags.tlsCa,
		cert: flags.tlsCert,
		key: flags.tlsKey,
	};
}

/** A flag has to give the unit; the collector itself, as a part of programs, would take a number in its place. */
function withUnit(option: string, text: string | undefined): string | undefined {
	if (text !== undefined && parseDuration(text) === undefined)
		throw new OptionError(option, text, DURATION_SYNTAX);
	return text;
}

function named<T>(work: () => T): T {
	try {
		return work();
	} catch (error) {
		throw renamed(error);
	}
}

/** The same error with the flag in place of the option that it names. */
function renamed(error: unknown): unknown {
	const message = messageOf(error).replace(/^(\w+)(?=[[:])/, (option) => FLAG_OF[option] ?? option);
	const code = codeOf(error);
	return code === undefined ? error : new AgentError(code, message, { cause: error });
}
