/** The collector's certificates, read and checked at the start and at each renewal. */
import type { TlsOptions } from 'node:tls';
import { AgentError, messageOf } from '../errors.ts';
import { Credentials } from '../transport/credentials.ts';
import type { ReceivingSettings } from './settings.ts';

/** Rejects with ERR_TLS, naming the option and the file, when one cannot be read or used. */
export async function readCertificates({ ca, cert, key, crl }: ReceivingSettings): Promise<TlsOptions> {
	const verified = ca !== undefined;
	try {
		const { options } = await new Credentials({ ca, cert, key, crl, minVersion: 'TLSv1.2' }).read();
		return { ...options, requestCert: verified, rejectUnauthorized: verified };
	} catch (cause) {
		throw new AgentError('ERR_TLS', messageOf(cause), { cause });
	}
}
