/** Keeps a core busy until its parent goes. */
process.on('disconnect', () => process.exit(0));
function work(): void {
	const end = performance.now() + 50;
	while (performance.now() < end);
	setImmediate(work);
}
work();
