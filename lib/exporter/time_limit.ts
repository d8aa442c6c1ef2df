/** Waits for `promise`, but not longer than this. False: the time was up first. Rejects when `promise` does before. */
export async function within(milliseconds: number, promise: Promise<unknown>): Promise<boolean> {
	let timer: NodeJS.Timeout | undefined;
	const limit = new Promise<boolean>((resolve) => {
		timer = setTimeout(() => resolve(false), milliseconds);
	});
	try {
		return await Promise.race([promise.then(() => true), limit]);
	} finally {
		clearTimeout(timer);
	}
}
