/**
 * `npm run bench`: the whole way from the table to a socket, in a namespace of its own; needs two cores. Where it may, the
 * exporter runs with a real-time priority on its core, so that what else the machine does is not measured.
 */
import { fileURLToPath } from 'node:url';
import { runProgram, UNSHARE } from '../__test__/support/namespace.ts';
import type { Outcome } from './export.ts';

const realtime = await runProgram('chrt', ['--rr', '1', 'true']).then(
	({ code }) => code === 0,
	() => false,
);
const priority = realtime ? ['chrt', '--rr', '1'] : [];
console.log(
	realtime
		? 'the exporter has its core for itself (real-time priority)'
		: 'without the right to a real-time priority: other programs on its core count too',
);

for (const [profile, load] of [
	['standard', 'quiet'],
	['standard', 'loaded'],
	['antrea', 'loaded'],
] as const) {
	const script = fileURLToPath(new URL('export.ts', import.meta.url));
	const command = ['taskset', '-c', '0', process.execPath, '--import=tsx', script, profile, load];
	const { code, stdout, stderr } = await runProgram('unshare', [...UNSHARE, ...priority, ...command]);
	if (code !== 0) throw new Error(stderr);
	const outcome = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Outcome;
	const { flows, pods, octets, rounds, peakRssMiB } = outcome;
	const best = (value: (round: Outcome['rounds'][number]) => number) =>
		rounds.map(value).sort((a, b) => a - b);
	const middle = (list: number[]) => list[Math.floor(list.length / 2)] ?? 0;
	console.log(
		`${profile} profile, ${load === 'loaded' ? 'the other core busy' : 'quiet'}: ${flows} flows due at once, ` +
			(pods > 0 ? `names on: ${pods} Pods, one at each end of every flow` : 'names off'),
	);
	console.log(
		`  records a second of wall clock: ${best(({ seconds }) => Math.round(flows / seconds)).join(', ')}`,
	);
	console.log(
		`  records a second of processor time: ${best(({ cpuSeconds }) => Math.round(flows / cpuSeconds)).join(', ')}`,
	);
	console.log(`  time to the first record: ${middle(best((round) => round.firstRecordMs)).toFixed(1)} ms`);
	console.log(
		`  event loop delay: p99 ${best((round) => round.delayP99Ms)
			.map((ms) => ms.toFixed(1))
			.join(', ')} ms, greatest ${Math.max(...rounds.map((round) => round.delayMaxMs)).toFixed(1)} ms`,
	);
	console.log(`  octets of the stream: ${octets}; peak resident memory: ${peakRssMiB.toFixed(0)} MiB`);
}
