import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import test from 'ava';

const run = promisify(execFile);
const INDEX = new URL('../lib/index.ts', import.meta.url);

/** A program whose exporter cannot start, because there is no folder for its state file. */
async function program(body: string): Promise<{ stdout: string; stderr: string; code: number }> {
	const text = `import { FlowExporter } from ${JSON.stringify(INDEX.href)};
const exporter = new FlowExporter({ stateFile: '/nowhere/state' });
${body}`;
	const args = ['--import=tsx', '--input-type=module', '--eval', text];
	return run(process.execPath, args).then(
		({ stdout, stderr }) => ({ stdout, stderr, code: 0 }),
		({ stdout, stderr, code }) => ({ stdout, stderr, code }),
	);
}

test('a rejected start that is caught warns nobody', async (t) => {
	const caught = await program('await exporter.start().catch((error) => console.log(error.code));');
	t.deepEqual(caught, { stdout: 'ERR_STATE_FILE\n', stderr: '', code: 0 });
	const later = await program(`const started = exporter.start();
await Promise.allSettled([started]);
await exporter.start().catch((error) => console.log(error.code));`);
	t.deepEqual(later, { stdout: 'ERR_STATE_FILE\n', stderr: '', code: 0 });
});

test('nor does one whose core fails meanwhile', async (t) => {
	const native = new URL('../lib/core/native.ts', import.meta.url);
	const broken = `const { native } = await import(${JSON.stringify(native.href)});
native().NativeExporter = class extends native().NativeExporter {
	poll() {
		throw new Error('broken');
	}
};
await new FlowExporter().start().catch((error) => console.log(error.message));`;
	t.deepEqual(await program(broken), { stdout: 'broken\n', stderr: '', code: 0 });
});

test('a rejected start that nobody hears of ends the program', async (t) => {
	const { code, stderr } = await program('exporter.start(); setInterval(() => undefined, 1000);');
	t.is(code, 1);
	t.regex(stderr, /ERR_STATE_FILE/);
});

test('a rejected start is heard by who listens to error, once, and need not be waited for', async (t) => {
	const body = "exporter.on('error', (error) => console.log(error.code)); exporter.start();";
	t.deepEqual(await program(body), { stdout: 'ERR_STATE_FILE\n', stderr: '', code: 0 });
});

test('a start that its owner stops or aborts need not be waited for', async (t) => {
	const aborted = `const aborting = new AbortController();
aborting.abort();
new FlowExporter({ signal: aborting.signal }).start();`;
	t.deepEqual(await program(aborted), { stdout: '', stderr: '', code: 0 });
	const stopped = 'const other = new FlowExporter({ netns: "/nowhere" }); other.start(); await other.stop();';
	t.deepEqual(await program(stopped), { stdout: '', stderr: '', code: 0 });
});
