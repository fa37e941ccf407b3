/** When a certificate authority of Slipway is made, renewed, kept or reported. */

import { type CertificateProblem } from './problem';
import { readPair, type StoredPair } from './pair';
import { beginOf, endOf } from './pem';

export interface StoredAuthority extends StoredPair {
  /** Made by Slipway; one of a person signs, too, but is never changed. */
  readonly isOurs: boolean;
  /** A person asked for a new one. */
  readonly isAskedFor: boolean;
}

type AuthorityVerdict =
  | { readonly step: 'make' }
  | { readonly step: 'renew'; readonly because: string }
  /** `until`: milliseconds since 1970, when it has to be looked at again. */
  | { readonly step: 'keep'; readonly until: number }
  | { readonly step: 'report'; readonly problem: CertificateProblem };

export const AUTHORITY_SECRET = 'slipway-server-ca';

export interface AuthorityKind {
  readonly secret: string;
  /** Whose certificates it signs: `the server` */
  readonly of: string;
  /** What a person does, too, who begins anew. */
  readonly anew: string;
}

export const SERVER_AUTHORITY: AuthorityKind = {
  secret: AUTHORITY_SECRET,
  of: 'the server',
  anew: ', and give machines the new authority',
};

export const AUTHORITY_DAYS = 3_650;

/** Renewed with a tenth of its life left: machines that were away that long still trust the server. */
const RENEWED_AT = 9 / 10;

/** @param stored - undefined = there is none */
export function judgeAuthority(
  stored: StoredAuthority | undefined,
  nowMs: number,
  { namespace, secret, anew }: AuthorityKind & { readonly namespace: string },
): AuthorityVerdict {
  if (stored === undefined) return { step: 'make' };
  const read = readPair(stored);
  const report = (field: string, says: string): AuthorityVerdict => ({
    step: 'report',
    problem: {
      object: `secret ${namespace}/${secret}`,
      ...{ field, says },
      mend: `restore it, or begin anew with kubectl -n ${namespace} delete secret ${secret}${anew} (docs/certificates.md)`,
    },
  });
  if ('says' in read) return report(read.field, read.says);
  const { certificate } = read;
  if (!certificate.ca) return report('tls.crt', 'is not the certificate of an authority');
  if (!certificate.checkIssued(certificate)) return report('tls.crt', 'is not signed by itself');
  const end = endOf(certificate);
  if (end <= nowMs) return report('tls.crt', `ended on ${new Date(end).toISOString()}`);
  if (!stored.isOurs) return { step: 'keep', until: end };
  if (stored.isAskedFor) return { step: 'renew', because: 'a person asked for it' };
  const begin = beginOf(certificate);
  const due = begin + (end - begin) * RENEWED_AT;
  if (nowMs < due) return { step: 'keep', until: due };
  return { step: 'renew', because: `it ends on ${new Date(end).toISOString()}` };
}
