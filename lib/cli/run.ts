/** `run`: the exporter as a program. Records of a run without a collector come out on stdout. */
import { toError } from '../errors.ts';
import { exporterOf } from '../exporter/exporter.ts';
import type { Settings } from '../options/options.ts';
import { createLogger, type Logger, logEvents } from './log.ts';
import { Loopback } from './loopback.ts';
import { Output } from './output.ts';
import { complaintOf, loadSettings, strangeVariables } from './settings.ts';
import { onStopSignal } from './signals.ts';

export async function run(flags: Readonly<Record<string, unknown>>): Promise<number> {
	const resolved = await loadSettings(flags, process.env);
	const { settings } = resolved;
	if (flags['printConfig'] === true) {
		const { configText } = await import('./print_config.ts');
		await new Output().write(configText(resolved), 1);
		return 0;
	}
	const log = createLogger({ level: settings.logLevel, format: settings.logFormat });
	for (const variable of strangeVariables(process.env)) log.warn({ variable }, complaintOf(variable));
	if (settings.collectors.length > 0) return serve(settings, log, undefined, Number.POSITIVE_INFINITY);
	const loopback = await Loopback.open();
	const printing = await loadSettings(flags, process.env, [loopback.layer]);
	return serve(printing.settings, log, loopback, Number.POSITIVE_INFINITY);
}

/** Exports until a signal, an error, or until `limit` records are printed. Resolves with the exit code. */
export async function serve(
	settings: Settings,
	log: Logger,
	loopback: Loopback | undefined,
	limit: number,
): Promise<number> {
	const exporter = exporterOf(settings);
	logEvents(exporter, log);
	let stop: () => void = () => undefined;
	const stopped = new Promise<void>((resolve) => {
		stop = resolve;
	});
	let failure: Error | undefined;
	const fail = (error: unknown) => {
		failure ??= toError(error);
		stop();
	};
	exporter.on('error', fail);
	const releaseSignals = onStopSignal((signal) => {
		log.info({ signal }, 'stopping');
		stop();
	});
	const renew = () => exporter.renewCertificates();
	process.on('SIGHUP', renew);
	const output = new Output(limit);
	if (loopback !== undefined) {
		output.gone.then(stop, fail);
		loopback.print(exporter, output, stop);
	}
	const metrics =
		settings.metrics === undefined
			? undefined
			: await Promise.race([
					(await import('../http/server.ts')).serveMetrics(exporter, settings.metrics, settings.metricsHosts),
					// Its address may be a name that no name server answers for.
					stopped,
				]);
	if (metrics != null) log.info({ address: metrics.address }, 'metrics');
	// A stop during the start rejects it; that is no failure.
	let stopping = false;
	exporter.start().then(
		() => log.info('started'),
		(error: unknown) => {
			if (!stopping) fail(error);
		},
	);
	await stopped;
	stopping = true;
	await exporter.stop();
	if (loopback !== undefined && !(await loopback.finish(settings.gracePeriod))) {
		log.warn('nobody reads stdout: records that were not printed yet are given up');
		output.abandon();
	}
	await metrics?.close();
	releaseSignals();
	process.off('SIGHUP', renew);
	if (failure !== undefined) throw failure;
	return 0;
}
