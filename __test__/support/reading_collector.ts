/** The embedded collector on loopback, and all that it has received. */
import { Collector, type FlowRecord } from '../../lib/index.ts';
import { until } from './kernel.ts';

export class ReadingCollector {
	readonly records: FlowRecord[] = [];
	readonly #collector: Collector;
	#reading: Promise<void> | undefined;

	constructor(transport: 'tcp' | 'udp' = 'tcp', address: '127.0.0.1' | '::1' = '127.0.0.1') {
		const host = address === '::1' ? '[::1]' : address;
		this.#collector = new Collector({ listen: [`${transport}://${host}:0`] });
	}

	/** Listens, and reads from now on. */
	async listen(): Promise<this> {
		await this.#collector.start();
		this.#reading = this.#read();
		return this;
	}

	async #read(): Promise<void> {
		for await (const batch of this.#collector) this.records.push(...batch);
	}

	get url(): string {
		return this.#collector.addresses[0] ?? '';
	}

	get port(): number {
		return Number(new URL(this.url).port);
	}

	/** Closes after the exporters have ended their sessions and all of it is read. Over UDP no session ends. */
	async close(): Promise<void> {
		await until('the sessions are read out', () => this.#collector.stats().sessions === 0);
		await this.#collector.stop();
		await this.#reading;
	}
}
