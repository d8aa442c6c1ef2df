/** `npm run test:interop`: sets the machine up, builds what is missing or out of date, then runs interop/. */
import { attempt, build, requireMachine, step } from './machine.mjs';

requireMachine();
step('sh', ['scripts/setup-tests.sh']);
step('sh', ['scripts/setup-interop.sh']);
build();
process.exit(
	attempt('npx', ['--no-install', 'ava', '--config', 'interop/ava.config.js', ...process.argv.slice(2)]),
);
