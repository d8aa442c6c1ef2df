/** Certificates made by openssl, as PEM text. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';

export interface Certified {
	cert: string;
	key: string;
}

export interface Authority extends Certified {
	readonly folder: string;
	readonly name: string;
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
let serial = 0;

function openssl(folder: string, ...args: string[]): void {
	execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
}

export function makeAuthority(name: string): Authority {
	const folder = temporaryFolder('authority');
	writeFileSync(join(folder, 'index.txt'), '');
	writeFileSync(join(folder, 'crlnumber'), '01\n');
	writeFileSync(
		join(folder, 'ca.cnf'),
		[
			'[ca]',
			'default_ca = this',
			'[this]',
			'database = index.txt',
			'crlnumber = crlnumber',
			'serial = serial',
			'unique_subject = no',
			'default_md = sha256',
			'default_crl_days = 2',
			'new_certs_dir = .',
			'policy = anything',
			'copy_extensions = copy',
			'[anything]',
			'commonName = supplied',
			'',
		].join('\n'),
	);
	openssl(
		folder,
		...['req', '-x509', ...KEY, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', `/CN=${name}`],
	);
	return { folder, name, cert: readFileSync(join(folder, 'ca.pem'), 'utf8'), key: 'ca.key' };
}

/** A certificate for `name`, valid from `from` to `to` (`YYYYMMDDHHMMSSZ`); by default for two days from now. */
export function makeCertificate(
	authority: Authority,
	name: string,
	{ from, to }: { from?: string; to?: string } = {},
): Certified {
	serial += 1;
	const file = `c${serial}`;
	const { folder } = authority;
	openssl(
		folder,
		...['req', ...KEY, '-keyout', `${file}.key`, '-out', `${file}.csr`, '-subj', `/CN=${name}`],
		...['-addext', `subjectAltName=${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`],
	);
	writeFileSync(join(folder, 'serial'), `${serial.toString(16).padStart(4, '0')}\n`);
	openssl(
		folder,
		...['ca', '-config', 'ca.cnf', '-batch', '-notext', '-cert', 'ca.pem', '-keyfile', 'ca.key'],
		...['-in', `${file}.csr`, '-out', `${file}.pem`],
		...(from === undefined ? [] : ['-startdate', from]),
		...(to === undefined ? ['-days', '2'] : ['-enddate', to]),
	);
	return {
		cert: readFileSync(join(folder, `${file}.pem`), 'utf8'),
		key: readFileSync(join(folder, `${file}.key`), 'utf8'),
	};
}

/** The authority's list of what it has revoked; `certified` is added to it. */
export function revoke(authority: Authority, certified?: Certified): string {
	const { folder } = authority;
	const common = ['ca', '-config', 'ca.cnf', '-cert', 'ca.pem', '-keyfile', 'ca.key'];
	if (certified !== undefined) {
		writeFileSync(join(folder, 'revoked.pem'), certified.cert);
		openssl(folder, ...common, '-revoke', 'revoked.pem');
	}
	openssl(folder, ...common, '-gencrl', '-out', 'crl.pem');
	return readFileSync(join(folder, 'crl.pem'), 'utf8');
}
