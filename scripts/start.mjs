/** `npm start`: builds what is missing or out of date, then runs the demo with the arguments given. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { build, fail, requireMachine, root } from './machine.mjs';

requireMachine();
build();

const demo = spawn(process.execPath, [join(root, 'dist/cli/main.js'), 'demo', ...process.argv.slice(2)], {
	stdio: 'inherit',
});
// Ctrl-C reaches the demo by itself; it decides when this ends. A signal to this process alone is passed on.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => demo.kill(signal));
demo.on('error', (error) => fail(error.message));
demo.on('exit', (code) => process.exit(code ?? 1));
