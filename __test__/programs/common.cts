/** A CommonJS program. */
import ipfix = require('conntrack-ipfix');

const options: ipfix.ExporterOptions = { collectors: ['tcp://a'] };
const exporter: ipfix.FlowExporter = new ipfix.FlowExporter(options);
console.log(exporter.stats().state);
const wrong = (error: unknown): string => (error instanceof ipfix.OptionError ? error.path : '');
try {
	// @ts-expect-error
	new ipfix.FlowExporter({ collectors: [5] });
} catch (error) {
	console.log(wrong(error));
}
const stats: ipfix.CollectorStats | undefined = undefined;
const summary = (poll: ipfix.PollSummary): number => poll.ipv4 + (stats === undefined ? 0 : 1);
console.log(summary.length);
