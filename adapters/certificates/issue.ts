/** Makes authorities and certificates, ECDSA with P-256. */

// @peculiar/x509 needs it to be loaded first.
import 'reflect-metadata';
import { createPrivateKey, KeyObject, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { AUTHORITY_DAYS, AUTHORITY_SECRET, isAddress, SERVING_DAYS } from '../../core/certificates';
import { CURVES } from './key-problem';

/** PEM. */
export interface Issued {
  readonly certificate: string;
  readonly key: string;
}

const KEY = { name: 'ECDSA', namedCurve: 'P-256' };
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' };
const DAY_MS = 86_400_000;
/** Clocks differ. */
const EARLIER_MS = 3_600_000;

const { ExtendedKeyUsage, KeyUsageFlags } = x509;

/** Each has a name of its own, so that nobody takes one authority for another. */
export async function makeAuthority(nowMs: number, kind = AUTHORITY_SECRET): Promise<Issued> {
  const keys = await newKeys();
  const name = new x509.Name([{ CN: [`${kind}@${Math.floor(nowMs / 1000)}`] }]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    keys,
    name,
    signingAlgorithm: SIGNATURE,
    notBefore: new Date(nowMs - EARLIER_MS),
    notAfter: new Date(nowMs + AUTHORITY_DAYS * DAY_MS),
    extensions: await ofAuthority(keys.publicKey),
  });
  return { certificate: pem(certificate), key: keyPem(keys) };
}

/**
 * The old authority vouches for the new one: name and key of the new one, signed by the old one,
 * until the old one ends. Machines that know the old one alone trust the server by it.
 */
export async function linkAuthority(
  old: Issued,
  { certificate }: Issued,
  nowMs: number,
): Promise<string> {
  const issuer = new x509.X509Certificate(old.certificate);
  const subject = new x509.X509Certificate(certificate);
  const link = await x509.X509CertificateGenerator.create({
    publicKey: subject.publicKey,
    subject: subject.subjectName,
    issuer: issuer.subjectName,
    ...signerOf(old.key),
    notBefore: new Date(nowMs - EARLIER_MS),
    notAfter: issuer.notAfter,
    extensions: [
      ...(await ofAuthority(subject.publicKey)),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
    ],
  });
  return pem(link);
}

export interface CertificateUse {
  readonly commonName: string;
  /** DNS names and addresses. */
  readonly names: readonly string[];
  readonly isServer: boolean;
  readonly isClient: boolean;
}

export function issueServing(
  authority: Issued,
  { names, nowMs }: { readonly names: readonly string[]; readonly nowMs: number },
): Promise<Issued> {
  const use = { commonName: 'slipway-server', names, isServer: true, isClient: false };
  return issueCertificate(authority, use, nowMs);
}

export async function issueCertificate(
  authority: Issued,
  { commonName, names, isServer, isClient }: CertificateUse,
  nowMs: number,
): Promise<Issued> {
  const keys = await newKeys();
  const issuer = new x509.X509Certificate(authority.certificate);
  const alternatives = names.map(
    (value) => ({ type: isAddress(value) ? 'ip' : 'dns', value }) as const,
  );
  const notAfter = Math.min(nowMs + SERVING_DAYS * DAY_MS, issuer.notAfter.getTime());
  const certificate = await x509.X509CertificateGenerator.create({
    publicKey: keys.publicKey,
    subject: new x509.Name([{ CN: [commonName] }]),
    issuer: issuer.subjectName,
    ...signerOf(authority.key),
    notBefore: new Date(nowMs - EARLIER_MS),
    notAfter: new Date(notAfter),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([
        ...(isServer ? [ExtendedKeyUsage.serverAuth] : []),
        ...(isClient ? [ExtendedKeyUsage.clientAuth] : []),
      ]),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      ...(names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(alternatives)]),
    ],
  });
  return { certificate: pem(certificate), key: keyPem(keys) };
}

async function ofAuthority(publicKey: x509.PublicKeyType): Promise<x509.Extension[]> {
  return [
    new x509.BasicConstraintsExtension(true, undefined, true),
    new x509.KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    await x509.SubjectKeyIdentifierExtension.create(publicKey),
  ];
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(KEY, true, ['sign', 'verify']);
}

/** A person's own authority may have another curve, or RSA. */
function signerOf(key: string) {
  const read = createPrivateKey(key);
  const { namedCurve = '' } = read.asymmetricKeyDetails ?? {};
  const algorithm =
    read.asymmetricKeyType === 'rsa'
      ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
      : { name: 'ECDSA', namedCurve: CURVES[namedCurve] ?? namedCurve };
  return {
    signingKey: read.toCryptoKey(algorithm, false, ['sign']),
    signingAlgorithm: { ...algorithm, hash: 'SHA-256' },
  };
}

function keyPem({ privateKey }: webcrypto.CryptoKeyPair): string {
  return KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' }).toString();
}

function pem(signed: x509.PemData<unknown>): string {
  return `${signed.toString('pem')}\n`;
}
