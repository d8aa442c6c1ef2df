/** The program's log: JSON lines or short text on stderr. Nothing of the library logs; the commands do. */
import { type Logger, pino } from 'pino';
import type { FlowExporter } from '../exporter/exporter.ts';
import { writeStderr } from './stderr.ts';

export type { Logger } from 'pino';

export interface LogOptions {
	level: string;
	/** Default: pretty on a terminal, json elsewhere. */
	format?: 'json' | 'pretty' | undefined;
}

/** Writes at once: a log that is lost with the process that it explains is of no use. No worker thread. */
export function createLogger({ level, format }: LogOptions): Logger {
	const pretty = (format ?? (process.stderr.isTTY ? 'pretty' : 'json')) === 'pretty';
	return pino(
		{
			level,
			base: null,
			timestamp: pino.stdTimeFunctions.isoTime,
			formatters: { level: (label) => ({ level: label }) },
		},
		{ write: (line: string) => writeStderr(pretty ? prettify(line) : line) },
	);
}

/** Logs what an exporter tells. */
export function logEvents(exporter: FlowExporter, log: Logger): void {
	exporter.on('poll', (summary) => log.debug(summary, 'poll'));
	exporter.on('export', (summary) => log.debug(summary, 'exported'));
	exporter.on('loss', (losses) => {
		for (const loss of losses) log.warn(loss, 'records lost');
	});
	exporter.on('connect', (session) => log.info(session, 'connected'));
	exporter.on('disconnect', ({ retryInMs, ...session }) => {
		if (retryInMs === null) log.info(session, 'disconnected');
		else log.warn({ ...session, retryInMs }, 'disconnected');
	});
	exporter.on('warning', ({ code, message }) => log.warn({ code }, message));
}

/** One line of JSON as `12:00:00.000 WARN text key=value`. */
export function prettify(line: string): string {
	const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
	const rest = Object.entries(fields).map(
		([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
	);
	const clock = typeof time === 'string' ? time.slice(11, 23) : '';
	return `${clock} ${String(level).toUpperCase().padEnd(5)} ${msg ?? ''}${rest.join('')}\n`;
}
