/** Shows on a pool when certificates end, and that one does soon. */

import {
  type CertificateExpiry,
  expiriesOf,
  expiringCondition,
  inOrder,
  type NamedBundle,
} from '../../core/certificates';
import { certificatesIn } from '../../core/host-bundle';
import { PoolCondition } from '../../core/names';
import { setCondition } from '../../core/pool/conditions';
import type { PoolStatus } from '../../core/pool/status';

/** The certificates of the server. */
export interface OwnCertificates {
  /** Undefined = they have not been seen. */
  bundles(): readonly NamedBundle[] | undefined;
  /** Returns a function that stops. */
  onChange(listener: () => void): () => void;
}

const OF_SERVER = /^slipway-/;

/** @param status - what the pool shows now: an unseen certificate stays as it is there */
export function expiriesNow(
  controllerConfig: unknown,
  own: ReturnType<OwnCertificates['bundles']>,
  status: Pick<PoolStatus, 'certExpirys'> | undefined,
): readonly CertificateExpiry[] {
  const shown = (status?.certExpirys ?? []).flatMap(({ bundle, subject, expiry }) =>
    typeof expiry === 'string' && OF_SERVER.test(bundle) ? [{ bundle, subject, expiry }] : [],
  );
  const others = expiriesOf(certificatesIn(controllerConfig));
  return inOrder([...others, ...(own === undefined ? shown : expiriesOf(own))]);
}

/** @param now - RFC 3339 */
export function withExpiries(
  status: PoolStatus,
  expiries: readonly CertificateExpiry[],
  now: string,
): PoolStatus {
  const conditions = status.conditions ?? [];
  const value = expiringCondition(expiries, Date.parse(now));
  const type = PoolCondition.CERTIFICATES_EXPIRING;
  return {
    ...status,
    certExpirys: expiries,
    conditions:
      value === undefined
        ? conditions.filter((condition) => condition.type !== type)
        : setCondition(conditions, value, now),
  };
}
