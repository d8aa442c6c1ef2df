/**
 * Certificates of one collector: read anew at every attempt to connect, and looked at every few seconds, so that a
 * renewed one is used without a restart. Contents are compared, not times: a mounted secret changes by a symbolic link.
 */
import { createHash, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { messageOf } from '../errors.ts';
import type { CollectorSettings } from '../options.ts';

const CHECK_MS = 5_000;
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
	/** Fingerprint of the set with which the last handshake succeeded. */
	#used: string | undefined;
	#timer: NodeJS.Timeout | undefined;
	#checking = false;

	constructor(settings: CredentialSettings) {
		this.#settings = settings;
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

	/** A handshake with this set has succeeded: only another one is news. */
	use({ fingerprint }: CredentialSet): void {
		this.#used = fingerprint;
	}

	/**
	 * Calls `move` when the files have changed and can be used, until it says true, and `problem` when they cannot, once
	 * for each change.
	 */
	watch(move: () => Promise<boolean>, problem: (error: unknown) => void): void {
		const files = PARTS.some((part) => this.#settings[part] !== undefined && !isText(this.#settings[part]));
		if (!files || this.#timer !== undefined) return;
		let told = '';
		const look = async () => {
			try {
				const { fingerprint } = await this.read();
				if (this.#used === undefined || fingerprint === this.#used) return;
				this.#used = (await move()) ? fingerprint : '';
				told = '';
			} catch (error) {
				this.#used &&= '';
				if (messageOf(error) !== told) problem(error);
				told = messageOf(error);
			}
		};
		this.#timer = setInterval(() => {
			if (this.#checking) return;
			this.#checking = true;
			look().finally(() => {
				this.#checking = false;
			});
		}, CHECK_MS).unref();
	}

	unwatch(): void {
		clearInterval(this.#timer);
		this.#timer = undefined;
	}
}

function isText(fileOrText: string | undefined): boolean {
	return fileOrText?.includes('-----BEGIN') === true;
}
