/** Certificates that Slipway's server needs, and when they end. */

import { X509Certificate } from 'node:crypto';
import { messageOf } from '../../core/errors';
import { ok, problem, warning, type Finding } from './finding';
import type { DoctorCluster } from './ports';

const SERVER = 'secret slipway/slipway-server-tls';
const AUTHORITIES = 'configmap slipway/slipway-client-ca';
const MEND = 'docs/install.md#4-the-processes';
const SOON_DAYS = 30;
const DAY_MS = 86_400_000;

/** Of processes that run in the cluster. */
export async function certificates(
  cluster: DoctorCluster,
  nowMs: number,
): Promise<readonly Finding[]> {
  const [server, authorities] = await Promise.all([
    cluster.serverCertificate(),
    cluster.clientAuthorities(),
  ]);
  return [...ofPem(SERVER, server, nowMs), ...ofPem(AUTHORITIES, authorities, nowMs)];
}

function ofPem(object: string, pem: string | undefined, nowMs: number): readonly Finding[] {
  if (pem === undefined) return [problem(object, 'is not there', MEND)];
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) return [problem(object, 'holds no certificate', MEND)];
  return blocks.map((block) => {
    try {
      return ofOne(object, new X509Certificate(block), nowMs);
    } catch (error) {
      return problem(object, `cannot be read: ${messageOf(error)}`, MEND);
    }
  });
}

function ofOne(object: string, certificate: X509Certificate, nowMs: number): Finding {
  const { subject, validFrom, validTo } = certificate;
  const name = subject.replaceAll('\n', ', ');
  const daysLeft = Math.floor((Date.parse(validTo) - nowMs) / DAY_MS);
  const ends = new Date(validTo).toISOString().slice(0, 10);
  if (Date.parse(validFrom) > nowMs) return problem(object, `${name} is not valid yet`, MEND);
  if (daysLeft < 0) return problem(object, `${name} ended on ${ends}`, MEND);
  if (daysLeft < SOON_DAYS)
    return warning(object, `${name} ends on ${ends}, in ${daysLeft} days`, MEND);
  return ok(object, `${name} ends on ${ends}`);
}
