#!/usr/bin/env node
import { readFileSync } from 'node:fs';
/** The command line. Exit codes: 0 done, 1 failed, 2 wrong usage or configuration. Commands are loaded when called. */
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { type AgentError, messageOf, OptionError } from '../errors.ts';
import { nearest } from '../options/nearest.ts';
import { withoutPrivateKeys } from '../options/secrets.ts';
import { addFlags } from './flags.ts';
import { exitWhenRead } from './output.ts';
import { writeStderr } from './stderr.ts';

const USAGE_CODES: ReadonlySet<string> = new Set(['ERR_OPTION', 'ERR_CONFIG', 'ERR_STATE_FILE']);

/** The version from package.json, which is one level above both lib/ and dist/. */
function version(): string {
	const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
	return (JSON.parse(text) as { version: string }).version;
}

function positiveNumber(text: string): number {
	const number = Number(text);
	if (!/^\d+$/.test(text) || number < 1 || !Number.isSafeInteger(number))
		throw new InvalidArgumentError('expected a whole number above zero');
	return number;
}

/** The command or flag that is nearest to one that commander does not know; by the same rule as options in a file. */
function suggestion(complaint: string, { commands }: Command): string {
	const [, dashes, wrong = ''] = /unknown (?:command|option) '(-*)([^'=]*)/.exec(complaint) ?? [];
	if (dashes === undefined) return '';
	const called = commands.find((command) => command.name() === process.argv[2]);
	const near =
		dashes === ''
			? nearest(
					wrong,
					commands.map((command) => command.name()),
				)
			: nearest(wrong, called?.options.map(({ long }) => long?.slice(2) ?? '') ?? []);
	return near === undefined ? '' : `(Did you mean ${dashes === '' ? '' : '--'}${near}?)\n`;
}

function repeat(text: string, previous: string[] | undefined): string[] {
	return [...(previous ?? []), text];
}

function program(done: (code: number) => void): Command {
	const format = () =>
		new Option('--format <FORMAT>', 'json or table').choices(['json', 'table']).default('json');
	const command = new Command('conntrack-ipfix')
		.description('Exports Linux conntrack flows as IPFIX')
		.version(version())
		.exitOverride()
		// It quotes what it does not know, which may be a misspelt flag with a key behind it.
		.configureOutput({
			outputError: (text, write) => write(withoutPrivateKeys(text) + suggestion(text, command)),
		})
		.showSuggestionAfterError(false);

	const run = command
		.command('run')
		.description('export flows; without a collector, print them as JSON lines');
	addFlags(run, 'all');
	run.option('--print-config', 'print the options as they would be used, and end');
	run.action(async (flags) => done(await (await import('./run.ts')).run(flags)));

	command
		.command('collect')
		.description('receive IPFIX and print it')
		.option(
			'--listen <URL>',
			'tcp://, tls:// or udp:// HOST:PORT; port 0 takes a free one; repeatable',
			repeat,
		)
		.option('--read <FILE>', 'read an IPFIX file; repeatable', repeat)
		.option('--count <N>', 'end after N records', positiveNumber)
		.addOption(format())
		.option('--options', 'print options records too')
		.addOption(
			new Option(
				'--large-numbers <FORM>',
				'integers beyond 2^53 - 1, which readers of JSON round: number, or text with all digits',
			).choices(['number', 'text']),
		)
		.option('--max-sessions <N>', 'most connections, and senders over UDP, at a time (256)', positiveNumber)
		.option('--idle-timeout <DURATION>', 'close a session without a message for so long (30m)')
		.option('--tls-ca <FILE>', 'authorities that exporters must come from (PEM)')
		.option('--tls-cert <FILE>', "the collector's certificate chain (PEM)")
		.option('--tls-key <FILE>', 'its private key (PEM)')
		.action(async (flags) => done(await (await import('./collect.ts')).collect(flags)));

	const dump = command.command('dump').description("print the kernel's table once");
	addFlags(dump, 'selection');
	dump.addOption(format()).action(async (flags) => done(await (await import('./dump.ts')).dump(flags)));

	command
		.command('demo')
		.description('a private network namespace with real traffic, exported and collected there')
		.option('--count <N>', 'end after N records', positiveNumber)
		.addOption(new Option('--inside').hideHelp())
		.action(async (flags) => done(await (await import('./demo.ts')).demo(flags)));
	return command;
}

async function main(): Promise<number> {
	let code = 0;
	try {
		await program((result) => {
			code = result;
		}).parseAsync();
		return code;
	} catch (error) {
		if (error instanceof CommanderError) {
			// Commander has printed what there is to say.
			return error.exitCode === 0 ? 0 : 2;
		}
		writeStderr(`conntrack-ipfix: ${withoutPrivateKeys(messageOf(error))}\n`);
		const wrongUsage =
			error instanceof OptionError || (error instanceof Error && USAGE_CODES.has((error as AgentError).code));
		return wrongUsage ? 2 : 1;
	}
}

const code = await main();
exitWhenRead(code);
