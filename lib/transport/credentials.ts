/**
 * Certificates of one collector: read anew at every attempt to connect and whenever `Renewal` looks, so that a renewed
 * one is used without a restart. Contents are compared, not times: a mounted secret changes by a symbolic link.
 */
import { createHash, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { messageOf } from '../errors.ts';
import type { CollectorSettings } from '../options.ts';

const PARTS = ['ca', 'cert', 'key', 'crl'] as const;

export type CredentialSettings = Pick<CollectorSettings, (typeof PARTS)[number] | 'minVersion'>;

/** One consistent reading of all files. */
export interface CredentialSet {
	readonly options: SecureContextOptions;
	readonly fingerprint: string;
	/** When the agent's own certificate ends, in milliseconds since 1970. */
	readonly expiry: number | null;
}

export class Credentials {
	readonly #settings: CredentialSettings;

	constructor(settings: CredentialSettings) {
		this.#settings = settings;
	}

	/** Whether some of them are files, which may change. */
	get inFiles(): boolean {
		return PARTS.some((part) => this.#settings[part] !== undefined && !isText(this.#settings[part]));
	}

	/** Rejects, naming the file, when one cannot be read or they do not belong together. */
	async read(): Promise<CredentialSet> {
		const options: SecureContextOptions = { minVersion: this.#settings.minVersion };
		const hash = createHash('sha256');
		for (const part of PARTS) {
			const fileOrText = this.#settings[part];
			if (fileOrText === undefined) continue;
			const pem = isText(fileOrText) ? fileOrText : await readFile(fileOrText);
			options[part] = pem;
			hash.update(`${part} ${pem.length} `).update(pem);
		}
		try {
			createSecureContext(options);
			const expiry =
				options.cert === undefined ? null : Date.parse(new X509Certificate(options.cert as Buffer).validTo);
			return { options, fingerprint: hash.digest('hex'), expiry };
		} catch (cause) {
			throw new Error(`the certificates cannot be used: ${messageOf(cause)}`, { cause });
		}
	}
}

function isText(fileOrText: string | undefined): boolean {
	return fileOrText?.includes('-----BEGIN') === true;
}
