import { KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import 'reflect-metadata';
import { BasicConstraintsExtension, X509CertificateGenerator } from '@peculiar/x509';
import { keyProblemOf, signerProblemOf } from '../../../../adapters/certificates/key-problem';
import {
  type Issued,
  issueCertificate,
  issueServing,
  linkAuthority,
  makeAuthority,
} from '../../../../adapters/certificates/issue';

const nowMs = Date.now();

/** Whether a machine with these authorities trusts the server under this name. */
async function trusts(ca: string, served: Issued, servername = 'slipway.example.com') {
  const server = createServer({ cert: served.certificate, key: served.key });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = connect({ host: '127.0.0.1', port, ca, servername });
  try {
    await once(socket, 'secureConnect');
    return socket.authorized;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    socket.destroy();
    server.close();
  }
}

const issue = (authority: Issued) =>
  issueServing(authority, { names: ['slipway.example.com', '10.0.0.7', 'fd00::7'], nowMs });

let first: Issued;
let second: Issued;
let third: Issued;

beforeAll(async () => {
  [first, second, third] = [
    await makeAuthority(nowMs),
    await makeAuthority(nowMs),
    await makeAuthority(nowMs),
  ];
});

it('a certificate is of its authority, and for its names alone', async () => {
  const served = await issue(first);

  expect(await trusts(first.certificate, served)).toBe(true);
  expect(await trusts(first.certificate, served, 'other.example.com')).toBe(
    'ERR_TLS_CERT_ALTNAME_INVALID',
  );
  expect(await trusts(second.certificate, served)).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  const certificate = new X509Certificate(served.certificate);
  expect(certificate.checkIP('10.0.0.7')).toBe('10.0.0.7');
  expect(certificate.checkIP('fd00::7')).toBe('fd00::7');
});

it('a certificate for clients is none for servers, and has no names', async () => {
  const use = { commonName: 'slipway', names: [], isServer: false, isClient: true };
  const { certificate } = await issueCertificate(first, use, nowMs);

  const { keyUsage, subjectAltName, subject } = new X509Certificate(certificate);
  expect({ keyUsage, subjectAltName, subject }).toEqual({
    keyUsage: ['1.3.6.1.5.5.7.3.2'],
    subjectAltName: undefined,
    subject: 'CN=slipway',
  });
});

it('after rotations, machines trust the server by the first authority, by the last, and by all', async () => {
  const links = [
    await linkAuthority(second, third, nowMs),
    await linkAuthority(first, second, nowMs),
  ];
  const { certificate, key } = await issue(third);
  const served = { certificate: [certificate, ...links].join(''), key };

  for (const authority of [first, second, third]) {
    expect(await trusts(authority.certificate, served)).toBe(true);
  }
  const all = [third, second, first].map((one) => one.certificate).join('');
  expect(await trusts(all, served)).toBe(true);
  expect(await trusts(first.certificate, { certificate, key })).toBe(
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  );
});

it('an authority of a person may have an RSA key', async () => {
  const signingAlgorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const keys = await webcrypto.subtle.generateKey(
    { ...signingAlgorithm, modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
    true,
    ['sign', 'verify'],
  );
  const extensions = [new BasicConstraintsExtension(true, undefined, true)];
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...{ keys, name: 'CN=of a person', signingAlgorithm, extensions },
  });
  const rsa = {
    certificate: certificate.toString('pem'),
    key: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString(),
  };

  expect(await trusts(rsa.certificate, await issue(rsa))).toBe(true);
});

it('a key that does not fit is told without a word of it', () => {
  const { certificate, key } = first;

  expect(keyProblemOf(certificate, key)).toBeUndefined();
  expect(keyProblemOf(certificate, second.key)).toBe(
    'is not the key of the certificate in tls.crt',
  );
  expect(keyProblemOf(certificate, 'SECRET')).toBe('is no private key in PEM');
  expect(signerProblemOf(certificate, key)).toBeUndefined();
  expect(signerProblemOf(certificate, 'SECRET')).toBe('is no private key in PEM');
  expect(signerProblemOf('', 'SECRET')).toBeUndefined();
});

it('an authority with a key that cannot sign here is told', async () => {
  const keys = await webcrypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...{
      keys: keys as webcrypto.CryptoKeyPair,
      name: 'CN=of a person',
      signingAlgorithm: { name: 'Ed25519' },
    },
  });
  const key = KeyObject.from((keys as webcrypto.CryptoKeyPair).privateKey).export({
    ...{ type: 'pkcs8', format: 'pem' },
  });

  expect(signerProblemOf(certificate.toString('pem'), key.toString())).toBe(
    'is of type ed25519; use RSA, P-256 or P-384',
  );
});
