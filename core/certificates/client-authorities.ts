/** The authorities of the kubelets' client certificates, as the server reads them. */

import { messageOf } from '../errors';
import { certificateBlocks, readCertificates, validOf } from './pem';
import type { CertificateProblem } from './problem';

export const CLIENT_AUTHORITY_CONFIG_MAP = 'slipway-client-ca';

/**
 * The API server writes it: the authorities whose client certificates it accepts itself, old and
 * new ones while they rotate. So it holds the separate client authority of k3s, and the rotating
 * ones of OKD.
 */
export const CLUSTER_AUTHENTICATION = {
  namespace: 'kube-system',
  name: 'extension-apiserver-authentication',
  key: 'client-ca-file',
} as const;

/** @param found - undefined = there is no such ConfigMap, or it lacks the key */
export function clientAuthorities(
  found: string | undefined,
  nowMs: number,
): { readonly pem: string } | CertificateProblem {
  const { namespace, name, key } = CLUSTER_AUTHENTICATION;
  const report = (says: string): CertificateProblem => ({
    object: `configmap ${namespace}/${name}`,
    ...{ field: key, says },
    mend: `give kube-apiserver --client-ca-file, or create the ConfigMap ${CLIENT_AUTHORITY_CONFIG_MAP} yourself (docs/certificates.md)`,
  });
  if (found === undefined || certificateBlocks(found).length === 0) {
    return report('holds no certificate');
  }
  try {
    readCertificates(found);
  } catch (error) {
    return report(`cannot be read (${messageOf(error)})`);
  }
  const pem = validOf([found], nowMs);
  return pem === '' ? report('holds only certificates that are over') : { pem };
}
