/** `npm test`: sets the machine up, builds what is missing or out of date, then runs cargo's and ava's tests. */
import { attempt, build, requireMachine, step } from './machine.mjs';

requireMachine();
step('sh', ['scripts/setup-tests.sh']);
build();
// Both run even if the first fails: one report says all that is wrong.
const failed = [
	attempt('cargo', ['test', '--workspace', '--quiet', '--no-fail-fast']),
	attempt('npx', ['--no-install', 'ava', ...process.argv.slice(2)]),
].filter((code) => code !== 0);
process.exit(failed[0] ?? 0);
