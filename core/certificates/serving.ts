/** When a certificate is issued, kept or reported. */

import { X509Certificate } from 'node:crypto';
import { isAddress } from './names';
import { readPair, type StoredPair } from './pair';
import { beginOf, certificateBlocks, endOf, joined } from './pem';
import type { CertificateProblem } from './problem';

export interface StoredServing extends StoredPair {
  /** A person asked for a new one. */
  readonly isAskedFor: boolean;
}

export interface WantedServing {
  /** DNS names and addresses. */
  readonly names: readonly string[];
  /** PEM of the authority that signs. */
  readonly authority: string;
  /** PEM: earlier authorities vouch for the present one; served behind the certificate. */
  readonly links: string;
}

type ServingVerdict =
  | { readonly step: 'issue'; readonly because: string }
  /** `until`: milliseconds since 1970, when it has to be looked at again. */
  | { readonly step: 'keep'; readonly until: number };

export const SERVING_SECRET = 'slipway-server-tls';

export const SERVING_DAYS = 90;

const RENEWED_AT = 2 / 3;

/** @param stored - one that Slipway has made; undefined = there is none */
export function judgeServing(
  stored: StoredServing | undefined,
  wanted: WantedServing,
  nowMs: number,
): ServingVerdict {
  const issue = (because: string): ServingVerdict => ({ step: 'issue', because });
  if (stored === undefined) return issue('there is none');
  const read = readPair(stored);
  if ('says' in read) return issue(`${read.field} ${read.says}`);
  const { certificate } = read;
  if (stored.isAskedFor) return issue('a person asked for it');
  const end = endOf(certificate);
  if (end <= nowMs) return issue(`it ended on ${new Date(end).toISOString()}`);
  if (!isSignedBy(certificate, new X509Certificate(wanted.authority))) {
    return issue('it is not of the present authority');
  }
  const [, ...links] = certificateBlocks(stored.certificate);
  if (joined(links) !== wanted.links) return issue('its chain is not that of the authority');
  const names = differentNames(certificate, wanted.names);
  if (names !== undefined) return issue(names);
  const begin = beginOf(certificate);
  const due = begin + (end - begin) * RENEWED_AT;
  if (nowMs < due) return { step: 'keep', until: due };
  return issue(`it ends on ${new Date(end).toISOString()}`);
}

/** What is wrong with a certificate that Slipway did not make; undefined = nothing. */
export function problemOfForeign(
  stored: StoredPair,
  nowMs: number,
  namespace: string,
): CertificateProblem | undefined {
  const read = readPair(stored);
  const report = (field: string, says: string): CertificateProblem => ({
    object: `secret ${namespace}/${SERVING_SECRET}`,
    ...{ field, says },
    mend: `correct it, or let Slipway issue one: kubectl -n ${namespace} delete secret ${SERVING_SECRET} (docs/certificates.md)`,
  });
  if ('says' in read) return report(read.field, read.says);
  const end = endOf(read.certificate);
  return end > nowMs ? undefined : report('tls.crt', `ended on ${new Date(end).toISOString()}`);
}

export function isSignedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

/** In words; undefined = the certificate has exactly these names. */
function differentNames(
  certificate: X509Certificate,
  wanted: readonly string[],
): string | undefined {
  const missing = missingNames(certificate, wanted);
  if (missing.length > 0) return `it lacks the names ${missing.join(', ')}`;
  const has = (certificate.subjectAltName ?? '').split(', ').filter((name) => name !== '');
  return has.length > wanted.length ? 'it has names that are not wanted any more' : undefined;
}

export function missingNames(
  certificate: X509Certificate,
  wanted: readonly string[],
): readonly string[] {
  return wanted.filter((name) =>
    isAddress(name)
      ? certificate.checkIP(name) === undefined
      : certificate.checkHost(name, { subject: 'never' }) === undefined,
  );
}
