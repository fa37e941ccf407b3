/**
 * The certificates between the processes and a Temporal of this cluster. Whoever has one of them may do
 * everything in Temporal, so their authority signs nothing else.
 */

import type { AuthorityKind } from './authority';
import type { CertificateProblem } from './problem';

export const TEMPORAL_AUTHORITY: AuthorityKind = {
  secret: 'slipway-temporal-ca',
  of: 'Temporal',
  anew: '',
};

/** Of the processes, for which Temporal's frontend asks. */
export const TEMPORAL_CLIENT_SECRET = 'slipway-temporal-tls';

/** In Temporal's own namespace. Its parts use it among themselves, too. */
export const TEMPORAL_SERVER_SECRET = 'temporal-tls';

/** Of the Service in deploy/temporal. @param namespace - Temporal's */
export function temporalNames(namespace: string): readonly string[] {
  const service = `temporal-frontend.${namespace}`;
  return [service, `${service}.svc`];
}

/** One of the two is a person's, the other one is not there: then they do not know each other. */
export function halfBrought(object: string, namespace: string): CertificateProblem {
  return {
    ...{ object, field: 'tls.crt' },
    says: 'is not of Slipway, so that Slipway cannot issue what belongs to it',
    mend: `bring secret ${namespace}/${TEMPORAL_CLIENT_SECRET}, too, or delete this one (docs/temporal.md)`,
  };
}
