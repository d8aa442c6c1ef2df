/** Certificates and keys may be given as PEM text in place of a file's path. */
export function isPemText(fileOrText: string): boolean {
	return fileOrText.includes('-----BEGIN');
}
