/** The collector's certificates, read and checked at the start and at each renewal. */
import { readFile } from 'node:fs/promises';
import type { TlsOptions } from 'node:tls';
import { AgentError, codeOf, messageOf } from '../errors.ts';
import { isPemText } from '../options/secrets.ts';
import { Credentials } from '../transport/credentials.ts';
import type { ReceivingSettings } from './settings.ts';

const PARTS = ['ca', 'cert', 'key', 'crl'] as const;

/** Rejects with ERR_TLS, naming the option and the file, when one cannot be read or used. */
export async function readCertificates(settings: ReceivingSettings): Promise<TlsOptions> {
	const texts: Partial<Record<(typeof PARTS)[number], string>> = {};
	for (const part of PARTS) {
		const fileOrText = settings[part];
		if (fileOrText === undefined) continue;
		texts[part] = isPemText(fileOrText) ? fileOrText : await contents(part, fileOrText);
	}
	try {
		await new Credentials({ ...texts, minVersion: 'TLSv1.2' }).read();
	} catch (cause) {
		const named = messageOf(cause).replace(/^(ca|cert|key|crl):/, (_, part: (typeof PARTS)[number]) =>
			isPemText(settings[part] ?? '') ? `${part}:` : `${part}: ${settings[part]}:`,
		);
		throw new AgentError('ERR_TLS', named, { cause });
	}
	const verified = texts.ca !== undefined;
	return { ...texts, minVersion: 'TLSv1.2', requestCert: verified, rejectUnauthorized: verified };
}

async function contents(part: string, path: string): Promise<string> {
	let text: string;
	try {
		text = await readFile(path, 'utf8');
	} catch (cause) {
		const reason = codeOf(cause) === 'ENOENT' ? 'no such file' : messageOf(cause);
		throw new AgentError('ERR_TLS', `${part}: ${path}: ${reason}`, { cause });
	}
	if (!isPemText(text)) throw new AgentError('ERR_TLS', `${part}: ${path}: no PEM text in it`);
	return text;
}
