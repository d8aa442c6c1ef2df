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
/** The same octets without their frame: the base64 text of a DER sequence (RFC 5208, RFC 5958, RFC 8017). */
const BARE = /\bM[CDEFGHI][A-Za-z0-9+/]{58,}[A-Za-z0-9+/=\s\\rn]*/g;

export const HIDDEN = '(a private key, not shown)';

/** Whether a text holds a private key, or so much of one that it must not be shown. */
export function holdsPrivateKey(text: string): boolean {
	return LABEL.test(text) || SMALL_LABEL.test(text) || text.search(BARE) >= 0;
}

/** The text with every private key in it replaced. */
export function withoutPrivateKeys(text: string): string {
	if (!holdsPrivateKey(text)) return text;
	return text.replace(BLOCK, ` ${HIDDEN}`).replace(SMALL_BLOCK, HIDDEN).replace(BARE, HIDDEN).trimStart();
}

/** The text with the user and password of a URL in it replaced: `tcp://***@host`. */
export function withoutPasswords(text: string): string {
	return text.replace(/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/"'@]*@/gi, '$1***@');
}
