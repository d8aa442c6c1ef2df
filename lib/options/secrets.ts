/**
 * Private keys that somebody gave as text, kept out of whatever is shown: complaints, logs, printed configurations.
 *
 * Whoever quotes what was given asks here first: `AgentError` and `OptionError` do for their messages.
 */

/** Certificates and keys may be given as PEM text in place of a file's path. */
export function isPemText(fileOrText: string): boolean {
	return fileOrText.includes('-----BEGIN');
}

/**
 * What no text but a PEM private key (RFC 7468), whole or mangled, has; the space may be written as in a URL. In small letters only
 * after BEGIN: people write of private keys, too.
 */
const LABEL = /PRIVATE.{1,4}KEY/s;
const SMALL_LABEL = /BEGIN[A-Z0-9 %]{0,40}PRIVATE.{1,4}KEY/is;
/** From the first line of a key to its last, or to the end where that is missing, in whatever way lines are joined. */
const BLOCK =
	/[-\s]*(BEGIN|END)[A-Z0-9 %]{0,40}PRIVATE.{1,4}KEY[\s\S]*(END[A-Z0-9 %]{0,40}PRIVATE.{1,4}KEY-*|$)|PRIVATE.{1,4}KEY[\s\S]*/g;
const SMALL_BLOCK = new RegExp(`${SMALL_LABEL.source}[\\s\\S]*`, 'gi');
/**
 * The same octets without their frame, the base64 text of a DER sequence (RFC 5208, RFC 5958, RFC 8017), or PEM text in base64 once more,
 * as a Secret of Kubernetes holds it.
 */
const BARE = /\b(M[CDEFGHI][A-Za-z0-9+/]{58,}|LS0tLS1CRUdJTi)[A-Za-z0-9+/=\s\\rn]*/g;
/** As long as a line of PEM text (RFC 7468: 64). What has small and capital letters and digits in it is one, and no path. */
const LINE = /[A-Za-z0-9+/]{60,}/g;

export const HIDDEN = '(a private key, not shown)';
const HIDDEN_LINE = '(what may be a part of a private key, not shown)';

/** Whether a text holds a private key, or so much of one that it must not be shown. */
export function holdsPrivateKey(text: string): boolean {
	return LABEL.test(text) || SMALL_LABEL.test(text) || text.search(BARE) >= 0;
}

/** The text with every private key in it replaced, and every line that may come from the midst of one. */
export function withoutPrivateKeys(text: string): string {
	return (holdsPrivateKey(text) ? withoutWholeKeys(text) : text).replace(LINE, (line) =>
		/[a-z]/.test(line) && /[A-Z]/.test(line) && /\d/.test(line) ? HIDDEN_LINE : line,
	);
}

function withoutWholeKeys(text: string): string {
	return text.replace(BLOCK, ` ${HIDDEN}`).replace(SMALL_BLOCK, HIDDEN).replace(BARE, HIDDEN).trimStart();
}

/**
 * The text with the user and password of a URL in it replaced: `tcp://***@host`. A password may hold anything, also what it must not, so
 * that all up to the last @ is hidden; a file has none.
 */
export function withoutPasswords(text: string): string {
	return text.replace(/\b(?!file:)([a-z][a-z0-9+.-]*:\/\/)\S*@/gi, '$1***@');
}
