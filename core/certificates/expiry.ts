/** When certificates end, and when people are told. */

import { fewSentences } from '../few';
import { PoolCondition } from '../names';
import type { ConditionValue } from '../pool/conditions';
import { rfc3339 } from '../rfc3339';
import { certificateBlocks, endOf, readCertificates } from './pem';

export interface NamedBundle {
  /** A field of the ControllerConfig in MCO's spelling, or the object that holds it. */
  readonly bundle: string;
  readonly pem: string;
}

/** An entry of `certExpirys` in the status of a pool, as in MCO. */
export interface CertificateExpiry {
  readonly bundle: string;
  /** `CN=kubelet-signer,OU=openshift` */
  readonly subject: string;
  /** RFC 3339. */
  readonly expiry: string;
}

const DAY_MS = 86_400_000;

/** Longest first. */
const WARNED_DAYS = [30, 7, 1] as const;

const REASONS = { 30: 'Within30Days', 7: 'Within7Days', 1: 'Within1Day' } as const;

/** Of a status: a longer list would be read by nobody. */
const EXPIRIES_SHOWN = 100;

/** The next one to end first. What cannot be read is left out: nobody can use it. */
export function expiriesOf(bundles: readonly NamedBundle[]): readonly CertificateExpiry[] {
  const found = new Map<string, CertificateExpiry>();
  for (const { bundle, pem } of bundles) {
    for (const block of certificateBlocks(pem)) {
      const expiry = expiryOf(bundle, block);
      if (expiry !== undefined) found.set(JSON.stringify(expiry), expiry);
    }
  }
  return inOrder([...found.values()]);
}

/** At most as many as a status shows. */
export function inOrder(expiries: readonly CertificateExpiry[]): readonly CertificateExpiry[] {
  const keyOf = ({ bundle, subject, expiry }: CertificateExpiry) =>
    [expiry, bundle, subject].join(' ');
  return [...expiries].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).slice(0, EXPIRIES_SHOWN);
}

function expiryOf(bundle: string, block: string): CertificateExpiry | undefined {
  try {
    const [certificate] = readCertificates(block);
    if (certificate === undefined) return undefined;
    // In Go's order: the last part first.
    const subject = (certificate.subject ?? '').split('\n').reverse().join(',');
    const expiry = rfc3339(endOf(certificate));
    return { bundle, subject, expiry };
  } catch {
    return undefined;
  }
}

/** The condition of a pool; undefined = nothing ends within 30 days. */
export function expiringCondition(
  expiries: readonly CertificateExpiry[],
  nowMs: number,
): ConditionValue | undefined {
  const left = ({ expiry }: CertificateExpiry): number => Date.parse(expiry) - nowMs;
  const [longest] = WARNED_DAYS;
  const soon = expiries.filter((one) => left(one) < longest * DAY_MS);
  const [first] = soon;
  if (first === undefined) return undefined;
  const days = WARNED_DAYS.findLast((limit) => left(first) < limit * DAY_MS) ?? longest;
  const sentences = soon.map((one) => {
    const verb = left(one) <= 0 ? 'ended' : 'ends';
    return `${one.bundle}: ${one.subject} ${verb} on ${one.expiry}`;
  });
  return {
    type: PoolCondition.CERTIFICATES_EXPIRING,
    status: 'True',
    reason: left(first) <= 0 ? 'Expired' : REASONS[days],
    message: `${fewSentences(sentences)}; rotate what is not renewed by itself (docs/machine-certificates.md)`,
  };
}

/** Milliseconds until the condition may be another one; undefined = never. */
export function untilNextWarning(
  expiries: readonly CertificateExpiry[],
  nowMs: number,
): number | undefined {
  const waits = expiries.flatMap(({ expiry }) =>
    [...WARNED_DAYS, 0].map((days) => Date.parse(expiry) - days * DAY_MS - nowMs),
  );
  const coming = waits.filter((wait) => wait >= 0);
  return coming.length === 0 ? undefined : Math.min(...coming) + 1;
}
