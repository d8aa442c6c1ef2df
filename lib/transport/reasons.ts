/** Why a connection failed, in the words that people read. */
const REASONS: Readonly<Record<string, string>> = {
	ECONNREFUSED: 'connection refused',
	ECONNRESET: 'reset by the collector',
	EPIPE: 'closed by the collector',
	ETIMEDOUT: 'timed out',
	EHOSTUNREACH: 'no route to the host',
	ENETUNREACH: 'network unreachable',
};

/**
 * A loopback socket may get the ephemeral port that it connects to, where nobody listens there: TCP then connects it to
 * itself (RFC 9293 section 3.5, simultaneous open), and it would read its own records as a collector.
 */
export const TO_ITSELF = 'connected to itself: nobody listens there';

/** Of a TLS alert the words, such as "tlsv13 alert certificate required". */
export function explain(error: Error & { code?: string; reason?: string }): string {
	return REASONS[error.code ?? ''] ?? error.reason ?? error.message;
}
