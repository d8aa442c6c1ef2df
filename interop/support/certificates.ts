/** An authority and two certificates from it, by openssl. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { output } from './program.ts';

export interface Identity {
	cert: string;
	key: string;
}

/** Paths of PEM files in `folder`. The collector is `collector.example` and 127.0.0.1. */
export async function makeCertificates(
	folder: string,
): Promise<{ ca: string; collector: Identity; exporter: Identity }> {
	const path = (name: string) => join(folder, name);
	const [ca, caKey] = [path('ca.pem'), path('ca-key.pem')];
	const ecKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
	await output(
		'openssl',
		...['req', '-x509', ...ecKey, '-days', '2', '-subj', '/CN=interop authority'],
		...['-keyout', caKey, '-out', ca],
	);
	const issue = async (name: string, extensions: string): Promise<Identity> => {
		const identity = { cert: path(`${name}.pem`), key: path(`${name}-key.pem`) };
		const [request, extensionFile] = [path(`${name}.csr`), path(`${name}.ext`)];
		writeFileSync(extensionFile, extensions);
		await output(
			'openssl',
			...['req', ...ecKey, '-subj', `/CN=${name}.example`, '-keyout', identity.key, '-out', request],
		);
		await output(
			'openssl',
			...['x509', '-req', '-in', request, '-CA', ca, '-CAkey', caKey, '-CAcreateserial', '-days', '2'],
			...['-extfile', extensionFile, '-out', identity.cert],
		);
		return identity;
	};
	return {
		ca,
		collector: await issue(
			'collector',
			'subjectAltName=DNS:collector.example,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n',
		),
		exporter: await issue('exporter', 'subjectAltName=DNS:exporter.example\nextendedKeyUsage=clientAuth\n'),
	};
}
