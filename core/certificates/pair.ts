/** A certificate with its key, as Secrets of type `kubernetes.io/tls` hold them. */

import type { X509Certificate } from 'node:crypto';
import { messageOf } from '../errors';
import { readCertificates } from './pem';

export interface StoredPair {
  /** `tls.crt`, PEM: the certificate, then its chain. */
  readonly certificate: string;
  /** What is wrong with `tls.key`; undefined = it is the key of the certificate. */
  readonly keyProblem: string | undefined;
}

type ReadPair =
  | { readonly certificate: X509Certificate }
  | { readonly field: 'tls.crt' | 'tls.key'; readonly says: string };

export function readPair({ certificate, keyProblem }: StoredPair): ReadPair {
  try {
    const [first] = readCertificates(certificate);
    if (first === undefined) return { field: 'tls.crt', says: 'holds no certificate' };
    if (keyProblem !== undefined) return { field: 'tls.key', says: keyProblem };
    return { certificate: first };
  } catch (error) {
    return { field: 'tls.crt', says: `cannot be read (${messageOf(error)})` };
  }
}
