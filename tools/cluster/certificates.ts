import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from 'node:crypto';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import * as der from './der';

/** A private key and its certificate, both PEM. */
export interface Credentials {
  readonly certificate: string;
  readonly key: string;
}

/** Who a certificate is for: Kubernetes reads the user from CN and the groups from O. */
export interface Subject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
}

/** What a certificate may be used for. */
export const CertificateUse = { CLIENT: 'client', SERVER: 'server' } as const;
export type CertificateUse = (typeof CertificateUse)[keyof typeof CertificateUse];

/** A certificate to be signed. `addresses` are DNS names and IP addresses, for servers. */
export interface CertificateRequest {
  readonly subject: Subject;
  readonly use: CertificateUse;
  readonly addresses?: readonly string[];
}

const OID = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternativeName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
} as const;

/** Development clusters live for hours; a kept one for weeks. */
const VALID_DAYS = 365;

const generate = promisify(generateKeyPair);

/** A new P-256 key: a hundred of them take less time than one RSA key. */
async function newKey(): Promise<{ privateKey: KeyObject; publicKey: KeyObject }> {
  return generate('ec', { namedCurve: 'P-256' });
}

function keyPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** A private key for service account tokens; the API server takes the public part from it. */
export async function newSigningKey(): Promise<{ key: string; publicKey: string }> {
  const { privateKey, publicKey } = await newKey();
  return {
    key: keyPem(privateKey),
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
}

/** A self-signed certificate authority. */
export async function newAuthority(commonName: string): Promise<Credentials> {
  const { privateKey, publicKey } = await newKey();
  const subject = { commonName };
  const extensions = [
    extension(OID.basicConstraints, der.sequence(der.boolean(true)), true),
    // digitalSignature, keyCertSign, cRLSign
    extension(OID.keyUsage, der.bitString(Buffer.from([0b1000_0110]), 1), true),
    extension(OID.subjectKeyIdentifier, der.octetString(keyIdentifier(publicKey))),
  ];
  const certificate = signCertificate(subject, subject, publicKey, privateKey, extensions);
  return { certificate, key: keyPem(privateKey) };
}

/** A new key with a certificate that the authority signs directly. */
export async function issueCertificate(
  authority: Credentials,
  request: CertificateRequest,
): Promise<Credentials> {
  const { privateKey, publicKey } = await newKey();
  const issuerKey = createPrivateKey(authority.key);
  const issuer = { commonName: commonNameOf(authority.certificate) };
  const purpose = request.use === CertificateUse.SERVER ? OID.serverAuth : OID.clientAuth;
  const issuerIdentifier = keyIdentifier(createPublicKey(issuerKey));
  const extensions = [
    extension(OID.basicConstraints, der.sequence(), true),
    extension(OID.keyUsage, der.bitString(Buffer.from([0b1000_0000]), 7), true), // digitalSignature
    extension(OID.extendedKeyUsage, der.sequence(der.objectIdentifier(purpose))),
    extension(OID.authorityKeyIdentifier, der.sequence(der.implicitlyTagged(0, issuerIdentifier))),
    ...alternativeNames(request.addresses ?? []),
  ];
  const certificate = signCertificate(request.subject, issuer, publicKey, issuerKey, extensions);
  return { certificate, key: keyPem(privateKey) };
}

/** A new key and a PKCS#10 signing request for it, PEM, as the cluster's CSR API takes it. */
export async function newSigningRequest(
  subject: Subject,
): Promise<{ readonly request: string; readonly key: string }> {
  const { privateKey, publicKey } = await newKey();
  const info = der.sequence(
    der.integer(Buffer.from([0])),
    distinguishedName(subject),
    publicKeyInfo(publicKey),
    der.explicitlyTagged(0, Buffer.alloc(0)),
  );
  return { request: pem('CERTIFICATE REQUEST', signed(info, privateKey)), key: keyPem(privateKey) };
}

function signCertificate(
  subject: Subject,
  issuer: Subject,
  publicKey: KeyObject,
  issuerKey: KeyObject,
  extensions: readonly Buffer[],
): string {
  const now = Date.now();
  const body = der.sequence(
    der.explicitlyTagged(0, der.integer(Buffer.from([2]))), // version 3
    der.integer(serialNumber()),
    signatureAlgorithm(),
    distinguishedName(issuer),
    // An hour back, for clocks that differ.
    der.sequence(
      der.utcTime(new Date(now - 3_600_000)),
      der.utcTime(new Date(now + VALID_DAYS * 86_400_000)),
    ),
    distinguishedName(subject),
    publicKeyInfo(publicKey),
    der.explicitlyTagged(3, der.sequence(...extensions)),
  );
  return pem('CERTIFICATE', signed(body, issuerKey));
}

function signed(body: Buffer, key: KeyObject): Buffer {
  return der.sequence(body, signatureAlgorithm(), der.bitString(sign('sha256', body, key)));
}

function signatureAlgorithm(): Buffer {
  return der.sequence(der.objectIdentifier(OID.ecdsaWithSha256));
}

/** Positive, not zero, without a leading zero byte. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes;
}

function publicKeyInfo(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' });
}

function keyIdentifier(key: KeyObject): Buffer {
  return createHash('sha1').update(publicKeyInfo(key)).digest();
}

function distinguishedName(subject: Subject): Buffer {
  const attribute = (oid: string, value: string): Buffer =>
    der.set(der.sequence(der.objectIdentifier(oid), der.utf8String(value)));
  return der.sequence(
    ...(subject.organizations ?? []).map((name) => attribute(OID.organization, name)),
    attribute(OID.commonName, subject.commonName),
  );
}

function extension(oid: string, content: Buffer, critical = false): Buffer {
  return der.sequence(
    der.objectIdentifier(oid),
    ...(critical ? [der.boolean(true)] : []),
    der.octetString(content),
  );
}

function alternativeNames(addresses: readonly string[]): readonly Buffer[] {
  if (addresses.length === 0) return [];
  const names = addresses.map((address) =>
    isIP(address) === 0
      ? der.implicitlyTagged(2, Buffer.from(address, 'latin1'))
      : der.implicitlyTagged(7, addressBytes(address)),
  );
  return [extension(OID.subjectAlternativeName, der.sequence(...names))];
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.split('::');
  const groups = (part: string): readonly string[] => (part === '' ? [] : part.split(':'));
  const after = groups(tail ?? '');
  const missing = tail === undefined ? 0 : 8 - groups(head).length - after.length;
  const all = [...groups(head), ...Array<string>(missing).fill('0'), ...after];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

function commonNameOf(certificate: string): string {
  const subject = new X509Certificate(certificate).subject;
  return /^CN=(.*)$/m.exec(subject)?.[1] ?? '';
}

function pem(label: string, content: Buffer): string {
  const lines = content.toString('base64').match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}
