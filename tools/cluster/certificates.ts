// @peculiar/x509 needs it to be loaded first.
import 'reflect-metadata';
import { createPrivateKey, KeyObject, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

export interface Credentials {
  readonly certificate: string;
  readonly key: string;
}

/** Kubernetes reads the user from CN and the groups from O. */
export interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

/** A peer is a server that is a client of others like it. */
export const CertificateUse = { CLIENT: 'client', SERVER: 'server', PEER: 'peer' } as const;
export type CertificateUse = (typeof CertificateUse)[keyof typeof CertificateUse];

/** `addresses` are DNS names and IP addresses, for servers. */
interface CertificateRequest {
  readonly subject: Subject;
  readonly use: CertificateUse;
  readonly addresses?: readonly string[];
}

/** A hundred keys of P-256 take less time than one of RSA. */
const KEY = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' };

const { ExtendedKeyUsage, KeyUsageFlags } = x509;

/** A kept development cluster lives for weeks. */
const VALID_DAYS = 365;

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
}

function keyPem({ privateKey }: webcrypto.CryptoKeyPair): string {
  return KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** For service account tokens; the API server takes the public part from it. */
export async function newSigningKey(): Promise<{ key: string; publicKey: string }> {
  const keys = await newKeys();
  const publicKey = KeyObject.from(keys.publicKey).export({ type: 'spki', format: 'pem' });
  return { key: keyPem(keys), publicKey: publicKey.toString() };
}

export async function newAuthority(commonName: string): Promise<Credentials> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    keys,
    name: nameOf({ commonName }),
    signingAlgorithm: SIGNATURE,
    ...validity(),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(
        KeyUsageFlags.digitalSignature | KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: pem(certificate), key: keyPem(keys) };
}

/** Signed directly by the authority. */
export async function issueCertificate(
  authority: Credentials,
  { subject, use, addresses = [] }: CertificateRequest,
): Promise<Credentials> {
  const keys = await newKeys();
  const issuer = new x509.X509Certificate(authority.certificate);
  const purposes = [
    ...(use === CertificateUse.SERVER ? [] : [ExtendedKeyUsage.clientAuth]),
    ...(use === CertificateUse.CLIENT ? [] : [ExtendedKeyUsage.serverAuth]),
  ];
  const names = addresses.map(
    (value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }) as const,
  );
  const certificate = await x509.X509CertificateGenerator.create({
    publicKey: keys.publicKey,
    subject: nameOf(subject),
    issuer: issuer.subjectName,
    signingKey: createPrivateKey(authority.key).toCryptoKey(KEY, false, ['sign']),
    signingAlgorithm: SIGNATURE,
    ...validity(),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension(purposes),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
    ],
  });
  return { certificate: pem(certificate), key: keyPem(keys) };
}

/** PKCS#10 and PEM, as the CSR API takes it. */
export async function newSigningRequest(
  subject: Subject,
): Promise<{ readonly request: string; readonly key: string }> {
  const keys = await newKeys();
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    keys,
    name: nameOf(subject),
    signingAlgorithm: SIGNATURE,
  });
  return { request: pem(request), key: keyPem(keys) };
}

function validity() {
  const now = Date.now();
  // Clocks differ.
  return {
    notBefore: new Date(now - 3_600_000),
    notAfter: new Date(now + VALID_DAYS * 86_400_000),
  };
}

function nameOf({ commonName, organizations = [] }: Subject): x509.Name {
  return new x509.Name([...organizations.map((name) => ({ O: [name] })), { CN: [commonName] }]);
}

function pem(signed: x509.PemData<unknown>): string {
  return `${signed.toString('pem')}\n`;
}
