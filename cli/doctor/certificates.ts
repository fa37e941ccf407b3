/** Certificates that Slipway's server needs: when they end, who issued them, and for which names. */

import type { X509Certificate } from 'node:crypto';
import {
  beginOf,
  endOf,
  isSignedBy,
  missingNames,
  readCertificates,
} from '../../core/certificates';
import { messageOf } from '../../core/errors';
import { ok, problem, warning, type Finding } from './finding';
import type { DoctorCluster } from './ports';

const SERVER = 'secret slipway/slipway-server-tls';
const BUNDLE = 'configmap slipway/slipway-server-ca';
const CLIENTS = 'configmap slipway/slipway-client-ca';
const MEND = 'docs/certificates.md#when-a-person-is-needed';
const RENEW = 'kubectl -n slipway annotate secret slipway-server-tls slipway.dev/renew=now';
const LOOK = 'kubectl -n slipway logs -l app.kubernetes.io/name=slipway-controllers --tail=-1';
/** Slipway renews its own thirty days before their end. */
const SOON_DAYS = 21;
const DAY_MS = 86_400_000;

/** Of processes that run in the cluster. */
export async function certificates(
  cluster: DoctorCluster,
  nowMs: number,
): Promise<readonly Finding[]> {
  const [server, bundle, clients, names] = await Promise.all([
    cluster.serverCertificate(),
    cluster.serverAuthorities(),
    cluster.clientAuthorities(),
    cluster.serverNames(),
  ]);
  const judged = [
    read(SERVER, server, ([first], chain) => ofServer(first, { chain, bundle, names, nowMs })),
    // Without one, machines learn no other authority than that of their settings.
    ...(bundle === undefined ? [] : [read(BUNDLE, bundle, (all) => [ofLast(BUNDLE, all, nowMs)])]),
    read(CLIENTS, clients, (all) => [ofLast(CLIENTS, all, nowMs)]),
  ];
  return judged.flat();
}

type Some = readonly [X509Certificate, ...X509Certificate[]];

function read(
  object: string,
  pem: string | undefined,
  judge: (certificates: Some, all: readonly X509Certificate[]) => readonly Finding[],
): readonly Finding[] {
  if (pem === undefined) return [problem(object, 'is not there', LOOK)];
  try {
    const [first, ...more] = readCertificates(pem);
    if (first === undefined) return [problem(object, 'holds no certificate', MEND)];
    return judge([first, ...more], [first, ...more]);
  } catch (error) {
    return [problem(object, `cannot be read: ${messageOf(error)}`, MEND)];
  }
}

interface OfServer {
  readonly chain: readonly X509Certificate[];
  readonly bundle: string | undefined;
  readonly names: readonly string[];
  readonly nowMs: number;
}

function ofServer(
  certificate: X509Certificate,
  { chain, bundle, names, nowMs }: OfServer,
): readonly Finding[] {
  const findings = [
    ofOne(SERVER, certificate, nowMs, `, issued by ${oneLine(certificate.issuer)}`),
  ];
  const missing = missingNames(certificate, names);
  if (missing.length > 0) {
    const says = `lacks ${missing.join(', ')} of SLIPWAY_SERVER_NAMES (configmap slipway/slipway-settings)`;
    findings.push(
      problem(SERVER, says, 'kubectl -n slipway rollout restart deployment slipway-controllers'),
    );
  }
  const trusted = bundle === undefined ? undefined : readable(bundle);
  if (trusted?.some((one) => chain.some((served) => isSignedBy(served, one))) === false) {
    findings.push(problem(SERVER, `is not of an authority in ${BUNDLE}`, `${RENEW}; ${MEND}`));
  }
  return findings;
}

/** What is wrong with the bundle is said of the bundle. */
function readable(bundle: string): readonly X509Certificate[] | undefined {
  try {
    return readCertificates(bundle);
  } catch {
    return undefined;
  }
}

/** Earlier ones end while later ones are in use. */
function ofLast(object: string, all: Some, nowMs: number): Finding {
  const last = all.reduce((latest, one) => (endOf(one) > endOf(latest) ? one : latest));
  return ofOne(object, last, nowMs);
}

function ofOne(object: string, certificate: X509Certificate, nowMs: number, more = ''): Finding {
  const name = oneLine(certificate.subject);
  const daysLeft = Math.floor((endOf(certificate) - nowMs) / DAY_MS);
  const ends = new Date(endOf(certificate)).toISOString().slice(0, 10);
  if (beginOf(certificate) > nowMs) return problem(object, `${name} is not valid yet`, MEND);
  if (daysLeft < 0) return problem(object, `${name} ended on ${ends}`, MEND);
  if (daysLeft < SOON_DAYS) {
    return warning(object, `${name} ends on ${ends}, in ${daysLeft} days${more}`, MEND);
  }
  return ok(object, `${name} ends on ${ends}${more}`);
}

function oneLine(name: string): string {
  return name.replaceAll('\n', ', ');
}
