/**
 * Certificates of one collector: read anew at every attempt to connect and whenever `Renewal` looks, so that a renewed
 * one is used without a restart. Contents are compared, not times: a mounted secret changes by a symbolic link.
 */
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { codeOf, messageOf } from '../errors.ts';
import type { CollectorSettings } from '../options/options.ts';
import { isPemText } from '../options/secrets.ts';

const PARTS = ['ca', 'cert', 'key', 'crl'] as const;
type Part = (typeof PARTS)[number];

/** What each file must hold, because OpenSSL takes one without a certificate for authorities, and trusts nobody then. */
const CONTENT: Readonly<Record<Part, { label: RegExp; name: string }>> = {
	ca: { label: /-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----/, name: 'certificate' },
	cert: { label: /-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----/, name: 'certificate' },
	key: { label: /-----BEGIN ([A-Z]+ )?PRIVATE KEY-----/, name: 'private key' },
	crl: { label: /-----BEGIN X509 CRL-----/, name: 'list of revoked certificates' },
};
const UNREADABLE: Readonly<Record<string, string>> = {
	ENOENT: 'no such file',
	ENOTDIR: 'no such file',
	EISDIR: 'it is a folder',
	EACCES: 'no permission to read it',
};
/** Codes of a verification that found no authority. */
const UNTRUSTED: ReadonlySet<string> = new Set([
	'SELF_SIGNED_CERT_IN_CHAIN',
	'DEPTH_ZERO_SELF_SIGNED_CERT',
	'UNABLE_TO_GET_ISSUER_CERT',
	'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
	'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
	'CERT_SIGNATURE_FAILURE',
]);

export type CredentialSettings = Pick<CollectorSettings, Part | 'minVersion'>;

/** One consistent reading of all files. */
export interface CredentialSet {
	readonly context: SecureContext;
	/** What it was made of, for a server, which makes its own. */
	readonly options: SecureContextOptions;
	readonly fingerprint: string;
	/** When the agent's own certificate ends, in milliseconds since 1970. */
	readonly expiry: number | null;
}

export class Credentials {
	readonly #settings: CredentialSettings;
	/** What was read last, or why it could not be used. */
	#last: { readonly fingerprint: string; set?: CredentialSet; error?: unknown } | undefined;

	constructor(settings: CredentialSettings) {
		this.#settings = settings;
	}

	/** Whether some of them are files, which may change. */
	get inFiles(): boolean {
		return PARTS.some((part) => {
			const fileOrText = this.#settings[part];
			return fileOrText !== undefined && !isPemText(fileOrText);
		});
	}

	/**
	 * Parses only what has changed: the authorities of a whole system take tens of milliseconds of the event loop. Rejects, naming the option and the file, when one cannot be read or used, or they do not belong together.
	 */
	async read(): Promise<CredentialSet> {
		const options: SecureContextOptions = { minVersion: this.#settings.minVersion };
		const hash = createHash('sha256');
		for (const part of PARTS) {
			const fileOrText = this.#settings[part];
			if (fileOrText === undefined) continue;
			const pem = isPemText(fileOrText) ? fileOrText : await this.#contents(part, fileOrText);
			options[part] = pem;
			hash.update(`${part} ${pem.length} `).update(pem);
		}
		const fingerprint = hash.digest('hex');
		if (this.#last?.fingerprint !== fingerprint) {
			this.#last = { fingerprint };
			try {
				this.#last.set = this.#parse(options, fingerprint);
			} catch (error) {
				this.#last.error = error;
			}
		}
		if (this.#last.set === undefined) throw this.#last.error;
		return this.#last.set;
	}

	#parse(options: SecureContextOptions, fingerprint: string): CredentialSet {
		for (const part of PARTS)
			if (options[part] !== undefined) this.#checkContent(part, String(options[part]));
		try {
			const context = createSecureContext(options);
			const expiry =
				options.cert === undefined ? null : Date.parse(new X509Certificate(options.cert as Buffer).validTo);
			return { context, options, fingerprint, expiry };
		} catch (cause) {
			throw new Error(this.#complaint(options) ?? `the certificates cannot be used: ${messageOf(cause)}`, {
				cause,
			});
		}
	}

	/** Why the collector's certificate was not accepted, where no authority was found for it; otherwise undefined. */
	explainUntrusted(error: Error): string | undefined {
		if (!UNTRUSTED.has(codeOf(error) ?? '')) return undefined;
		const authorities =
			this.#settings.ca === undefined
				? 'no ca is given, and no authority that Node.js knows'
				: `no authority in ${this.#place('ca')}`;
		return `${authorities} has signed the collector's certificate (${error.message})`;
	}

	async #contents(part: Part, file: string): Promise<Buffer> {
		try {
			return await readFile(file);
		} catch (cause) {
			throw new Error(`${part}: ${file}: ${UNREADABLE[codeOf(cause) ?? ''] ?? messageOf(cause)}`, { cause });
		}
	}

	#checkContent(part: Part, pem: string): void {
		const { label, name } = CONTENT[part];
		if (label.test(pem)) {
			if (part === 'key' && /-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(pem))
				throw new Error(`${this.#place(part)}: the private key is encrypted; only a plain one can be used`);
			return;
		}
		const found = /-----BEGIN ([A-Z0-9 ]+)-----/.exec(pem)?.[1]?.toLowerCase();
		throw new Error(
			`${this.#place(part)}: no ${name} in it${found === undefined ? '' : `, but this: ${found}`}`,
		);
	}

	/** Which part OpenSSL does not take by itself, or that they do not belong together. */
	#complaint(options: SecureContextOptions): string | undefined {
		for (const part of PARTS) {
			if (options[part] === undefined) continue;
			try {
				createSecureContext({ [part]: options[part] });
			} catch (error) {
				return `${this.#place(part)}: the ${CONTENT[part].name} cannot be used: ${messageOf(error)}`;
			}
		}
		if (options.cert === undefined || options.key === undefined) return undefined;
		const own = new X509Certificate(options.cert as Buffer);
		if (own.checkPrivateKey(createPrivateKey(options.key as Buffer))) return undefined;
		return `${this.#place('key')}: this key does not belong to the certificate in ${this.#place('cert')}`;
	}

	/** The option, and its file if there is one. */
	#place(part: Part): string {
		const fileOrText = this.#settings[part];
		return fileOrText === undefined || isPemText(fileOrText) ? part : `${part}: ${fileOrText}`;
	}
}
