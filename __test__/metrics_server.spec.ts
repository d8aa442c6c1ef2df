import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import test from 'ava';
import { isAllowedHost } from '../lib/http/host.ts';
import { serveMetrics } from '../lib/http/server.ts';
import { FlowExporter } from '../lib/index.ts';

async function serving(names: string[] = []) {
	const exporter = new FlowExporter({ collectors: ['tcp://127.0.0.1:9'], profile: 'antrea' });
	let snapshots = 0;
	const stats = exporter.stats.bind(exporter);
	exporter.stats = () => {
		snapshots += 1;
		return stats();
	};
	const server = await serveMetrics(exporter, { host: '127.0.0.1', port: 0 }, names);
	const port = Number(server.address.split(':').at(-1));
	const get = (path: string, host?: string) =>
		new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
			const headers = host === undefined ? {} : { host };
			request({ port, host: '127.0.0.1', path, headers, agent: false }, (response) => {
				let text = '';
				response.setEncoding('utf8').on('data', (part: string) => {
					text += part;
				});
				response.on('end', () => resolve({ status: response.statusCode, text }));
			})
				.on('error', reject)
				.end();
		});
	return { server, port, get, snapshots: () => snapshots };
}

test('a name that is not ours is refused on every path, in whatever a browser was made to ask', async (t) => {
	const { server, port, get } = await serving(['metrics.example']);
	for (const path of ['/metrics', '/healthz', '/readyz', '/status', '/nothing']) {
		const { status, text } = await get(path, `evil.example:${port}`);
		t.is(status, 421, path);
		t.regex(text, /metricsHosts/);
	}
	for (const host of [`127.0.0.1:${port}`, 'metrics.example', `localhost:${port}`])
		t.is((await get('/status', host)).status, 200, host);
	await server.close();
});

test('addresses and the names that were given are ours, and nothing that only looks like them', (t) => {
	const names = ['agent.example', 'b'];
	for (const host of [
		'10.0.0.1',
		'10.0.0.1:9',
		'[::1]:9',
		'[fd00::1]',
		'Agent.Example.:80',
		'b',
		'LOCALHOST',
		undefined,
	])
		t.true(isAllowedHost(host, names), host);
	for (const host of [
		'',
		'c',
		'agent.example.evil',
		'evil.agent.example',
		'10.0.0.1.evil',
		'localhost.evil:9',
		'[b]x',
		'b:x',
	])
		t.false(isAllowedHost(host, names), host);
});

test('a scrape is of one moment: one snapshot, however many metrics', async (t) => {
	const { server, get, snapshots } = await serving();
	for (const scrapes of [1, 2, 3]) {
		const { text } = await get('/metrics');
		t.true(text.split('# TYPE').length > 30);
		t.is(snapshots(), scrapes);
	}
	await server.close();
});

test('connections that ask nothing give way to one that asks', async (t) => {
	const { server, port, get } = await serving();
	const silent = await Promise.all(
		Array.from({ length: 64 }, async (_, number) => {
			const socket = connect(port, '127.0.0.1');
			socket.on('error', () => undefined).resume();
			await once(socket, 'connect');
			// Some have begun.
			if (number % 2 === 0) socket.write('GET /metrics HTTP/1.1\r\nHost: ');
			return socket;
		}),
	);
	let closed = 0;
	for (const socket of silent) socket.once('close', () => (closed += 1));
	const first = new Promise((resolve) => (silent[0] as Socket).once('close', resolve));
	t.is((await get('/metrics')).status, 200);
	await first;
	t.is(closed, 1, 'and no more than need be');
	await server.close();
});

test('who asks again without waiting for the answer is closed, and costs no more than one answer', async (t) => {
	const { server, port, get, snapshots } = await serving();
	const socket = connect(port, '127.0.0.1');
	socket.on('error', () => undefined).resume();
	const closed = new Promise((resolve) => socket.once('close', resolve));
	const ask = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n';
	socket.write(ask.repeat(1_000));
	await closed;
	t.true(snapshots() <= 1, `${snapshots()} snapshots`);

	const patient = connect(port, '127.0.0.1');
	let answers = '';
	patient.setEncoding('utf8').on('data', (text: string) => {
		answers += text;
	});
	for (const times of [1, 2]) {
		patient.write(ask.replace('/metrics', '/readyz'));
		while (answers.split('HTTP/1.1 503').length <= times) await once(patient, 'data');
	}
	t.is((await get('/readyz')).status, 503);
	await server.close();
});
