/** `npm run test:interop`: the tests against other programs. Each file's scenarios run in namespaces of their own. */
export default {
	extensions: { ts: 'module' },
	nodeArguments: ['--import=tsx'],
	workerThreads: false,
	timeout: '4m',
	concurrency: 2,
	failFast: false,
	files: ['interop/**/*.spec.ts'],
};
