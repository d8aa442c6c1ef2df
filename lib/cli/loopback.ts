/**
 * The exporter with the embedded collector behind it: records travel as IPFIX over a real TCP session on loopback
 * and come out as JSON lines. The collector accepts exactly one connection at a time, the exporter's.
 */
import { Collector } from '../collector/collector.ts';
import { type FlowExporter, ownsEndpoint } from '../exporter/exporter.ts';
import { within } from '../exporter/time_limit.ts';
import type { Layer } from '../options/options.ts';
import type { Output } from './output.ts';

const LISTEN = 'tcp://127.0.0.1:0';
const READ_OUT_MS = 50;

export class Loopback {
	readonly #collector: Collector;
	#exporter: FlowExporter | undefined;
	#printing: Promise<void> | undefined;

	private constructor(collector: Collector) {
		this.#collector = collector;
	}

	static async open(): Promise<Loopback> {
		const loopback: Loopback = new Loopback(
			new Collector({
				listen: [LISTEN],
				maxSessions: 1,
				accept: ({ address, port }) =>
					loopback.#exporter !== undefined && ownsEndpoint(loopback.#exporter, address, port),
			}),
		);
		await loopback.#collector.start();
		return loopback;
	}

	/** The collector as an option of the exporter. */
	get layer(): Layer {
		const [url] = this.#collector.addresses;
		const collector = { url, name: 'stdout', reconnect: { initial: '100ms', max: '1s' } };
		return { values: { collectors: [collector] }, nameOf: (option) => option };
	}

	/** Prints until the output wants no more (`enough` is called) or `finish` was called and all is read. */
	print(exporter: FlowExporter, output: Output, enough: () => void): void {
		this.#exporter = exporter;
		this.#printing = this.#print(output, enough);
		this.#printing.catch(enough);
	}

	async #print(output: Output, enough: () => void): Promise<void> {
		let wanted = true;
		// Reads on when nobody wants more, so that the exporter can get rid of what it holds.
		for await (const { json, records } of this.#collector.chunks()) {
			if (!wanted) continue;
			wanted = await output.write(json, records);
			if (!wanted) enough();
		}
	}

	/**
	 * After the exporter has stopped: reads out what is on its way, prints it, closes. False: that took longer than
	 * `patience` milliseconds, because nobody reads the output, and the rest was given up.
	 */
	async finish(patience: number): Promise<boolean> {
		const end = performance.now() + patience;
		while (this.#collector.stats().sessions > 0 && performance.now() < end)
			await new Promise((resolve) => setTimeout(resolve, READ_OUT_MS));
		await this.#collector.stop();
		return within(Math.max(READ_OUT_MS, end - performance.now()), Promise.resolve(this.#printing));
	}
}
