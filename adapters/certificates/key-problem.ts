import { createPrivateKey } from 'node:crypto';
import { readCertificates } from '../../core/certificates';

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

function firstOf(certificate: string) {
  try {
    return readCertificates(certificate)[0];
  } catch {
    // Who reads the certificate reports that.
    return undefined;
  }
}
