import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { type CredentialSettings, Credentials } from '../lib/transport/credentials.ts';
import { makeAuthority, makeCertificate, revoke } from './support/certificates.ts';
import { temporaryFolder } from './support/folder.ts';

const authority = makeAuthority('credentials');
const own = makeCertificate(authority, 'agent');
const other = makeCertificate(authority, 'other');
const request = readFileSync(
	join(authority.folder, readdirSync(authority.folder).find((name) => name.endsWith('.csr')) ?? ''),
	'utf8',
);
const folder = temporaryFolder('credentials');
function file(name: string, text: string): string {
	const path = join(folder, name);
	writeFileSync(path, text);
	return path;
}
const ca = file('ca.pem', authority.cert);
const cert = file('cert.pem', own.cert);
const key = file('key.pem', own.key);
const read = (settings: Partial<CredentialSettings>) =>
	new Credentials({ minVersion: 'TLSv1.2', ...settings }).read();

test('what belongs together is read, from files and as text', async (t) => {
	const crl = file('crl.pem', revoke(authority));
	const fromFiles = await read({ ca, cert, key, crl });
	const fromText = await read({ ca: authority.cert, ...own, crl: readFileSync(crl, 'utf8') });
	t.is(fromFiles.fingerprint, fromText.fingerprint);
	t.true((fromFiles.expiry ?? 0) > Date.now());
	// As some tools write them: the key and the chain in one file, with words between.
	const both = file('both.pem', `Bag Attributes\n${own.key}\nsubject=CN = agent\n${own.cert}`);
	await t.notThrowsAsync(read({ cert: both, key: both }));
});

test('what has not changed is not parsed again, whether it can be used or not', async (t) => {
	const changing = file('changing.pem', own.cert);
	const credentials = new Credentials({ minVersion: 'TLSv1.2', cert: changing, key });
	const first = await credentials.read();
	t.is(await credentials.read(), first);
	file('changing.pem', other.cert);
	const refused = await t.throwsAsync(credentials.read(), { message: /does not belong to the certificate/ });
	t.is(await t.throwsAsync(credentials.read()), refused);
	file('changing.pem', own.cert);
	t.deepEqual((await credentials.read()).fingerprint, first.fingerprint);
});

test('what cannot be used is named by its option and its file', async (t) => {
	const words = file('words.pem', 'root:x:0:0:root:/root:/bin/bash\n');
	const csr = file('csr.pem', request);
	const wrong = file('other.key', other.key);
	const damaged = file('damaged.pem', own.cert.replace(/\n[A-Za-z0-9+/]{8}/, '\n????????'));
	const encrypted = file('encrypted.pem', own.key.replaceAll('PRIVATE KEY', 'ENCRYPTED PRIVATE KEY'));
	const cases: Array<[Partial<CredentialSettings>, string | RegExp]> = [
		[{ ca: '/nowhere/ca.pem' }, 'ca: /nowhere/ca.pem: no such file'],
		[{ cert: folder, key }, `cert: ${folder}: it is a folder`],
		[{ ca: words }, `ca: ${words}: no certificate in it`],
		[{ ca: key }, `ca: ${key}: no certificate in it, but this: private key`],
		[{ cert: csr, key }, `cert: ${csr}: no certificate in it, but this: certificate request`],
		[{ ca: request }, 'ca: no certificate in it, but this: certificate request'],
		[{ cert, key: cert }, `key: ${cert}: no private key in it, but this: certificate`],
		[{ crl: ca }, `crl: ${ca}: no list of revoked certificates in it, but this: certificate`],
		[{ cert, key: wrong }, `key: ${wrong}: this key does not belong to the certificate in cert: ${cert}`],
		[{ cert: damaged, key }, /^cert: \S+damaged\.pem: the certificate cannot be used: /],
		[
			{ cert, key: encrypted },
			`key: ${encrypted}: the private key is encrypted; only a plain one can be used`,
		],
	];
	for (const [settings, message] of cases) await t.throwsAsync(read(settings), { message }, String(message));
});

test('an authority that did not sign the certificate is named', (t) => {
	const error = Object.assign(new Error('self-signed certificate in certificate chain'), {
		code: 'SELF_SIGNED_CERT_IN_CHAIN',
	});
	const explained = (settings: Partial<CredentialSettings>) =>
		new Credentials({ minVersion: 'TLSv1.2', ...settings }).explainUntrusted(error);
	t.is(
		explained({ ca }),
		`no authority in ca: ${ca} has signed the collector's certificate (self-signed certificate in certificate chain)`,
	);
	t.regex(explained({}) ?? '', /^no ca is given, and no authority that Node\.js knows has signed the/);
	t.is(
		new Credentials({ minVersion: 'TLSv1.2', ca }).explainUntrusted(new Error('certificate has expired')),
		undefined,
	);
});
