import { createPrivateKey } from 'node:crypto';
import { readCertificates } from '../../core/certificates';

/** OpenSSL's name → the name of Web Cryptography. */
export const CURVES: Readonly<Record<string, string>> = {
  prime256v1: 'P-256',
  secp384r1: 'P-384',
};

/**
 * Why a key does not fit the first certificate, without a word of it; undefined = it fits, or there
 * is no certificate.
 */
export function keyProblemOf(certificate: string, key: string): string | undefined {
  const first = firstOf(certificate);
  if (first === undefined) return undefined;
  try {
    if (first.checkPrivateKey(createPrivateKey(key))) return undefined;
    return 'is not the key of the certificate in tls.crt';
  } catch {
    // OpenSSL's message may quote what it has read.
    return 'is no private key in PEM';
  }
}

/** The same of an authority: Slipway must be able to sign with the key, too. */
export function signerProblemOf(certificate: string, key: string): string | undefined {
  const problem = keyProblemOf(certificate, key);
  if (problem !== undefined || firstOf(certificate) === undefined) return problem;
  const { asymmetricKeyType: type = '', asymmetricKeyDetails } = createPrivateKey(key);
  if (type === 'rsa') return undefined;
  const curve = asymmetricKeyDetails?.namedCurve ?? '';
  if (type === 'ec' && curve in CURVES) return undefined;
  return `is of type ${[type, curve].join(' ').trim()}; use RSA, P-256 or P-384`;
}

function firstOf(certificate: string) {
  try {
    return readCertificates(certificate)[0];
  } catch {
    // Who reads the certificate reports that.
    return undefined;
  }
}
