/** The authorities in a ControllerConfig. People may write anything into it. */

import { decodeBase64 } from '../encoding';
import { CONTROLLER_CONFIG } from '../controller-config';
import { certificateBlocks, readCertificates } from '../certificates/pem';
import { isRecord } from '../is-record';
import { registryPath } from './paths';
import type { BundleProblem } from './types';

const OBJECT = `controllerconfig ${CONTROLLER_CONFIG}`;
const FIX = 'write certificates as PEM in base 64, as base64 -w0 prints them';

/** A PEM text; or why there is none; undefined = the field is absent or empty. */
type FoundAuthority = { readonly pem: string } | { readonly problem: BundleProblem };

/** The texts of a field of the ControllerConfig's `spec`. */
export function authorityIn(
  spec: Readonly<Record<string, unknown>>,
  field: string,
): FoundAuthority | undefined {
  const value = spec[field];
  return value === undefined || value === null || value === ''
    ? undefined
    : readAuthority(`spec.${field}`, value);
}

/** The reason is in words of its own: an error of a parser could quote what it read. */
function readAuthority(path: string, value: unknown): FoundAuthority {
  const problem = (says: string): FoundAuthority => ({
    problem: { object: OBJECT, path, problem: says, fix: FIX },
  });
  if (typeof value !== 'string') return problem('is not text');
  const decoded = decodeBase64(value);
  if ('error' in decoded) return problem('is not base 64');
  const pem = Buffer.from(decoded.bytes).toString('utf8');
  if (certificateBlocks(pem).length === 0) return problem('holds no certificate in PEM');
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem)) return problem('holds a private key');
  try {
    readCertificates(pem);
  } catch {
    return problem('holds a certificate that cannot be read');
  }
  return { pem: pem.endsWith('\n') ? pem : `${pem}\n` };
}

interface RegistryAuthorities {
  /** PEM by path; of two entries for one registry the later one counts, as in MCO. */
  readonly files: ReadonlyMap<string, string>;
  /** Paths with a problem. */
  readonly keeps: ReadonlySet<string>;
  /** A list cannot be read, so it is not known which files belong to it. */
  readonly isPartial: boolean;
  readonly problems: readonly BundleProblem[];
}

/** Those of the cluster, and then those of people. */
const REGISTRY_FIELDS = ['imageRegistryBundleData', 'imageRegistryBundleUserData'] as const;

export function registryAuthorities(spec: Readonly<Record<string, unknown>>): RegistryAuthorities {
  const files = new Map<string, string>();
  const keeps = new Set<string>();
  const problems: BundleProblem[] = [];
  let isPartial = false;
  const refuse = (path: string, problem: string, fix: string): void => {
    problems.push({ object: OBJECT, path, problem, fix });
  };
  for (const field of REGISTRY_FIELDS) {
    const list = spec[field] ?? [];
    if (!Array.isArray(list)) {
      refuse(`spec.${field}`, 'is not a list', 'write entries with file and data');
      isPartial = true;
      continue;
    }
    for (const [index, entry] of (list as readonly unknown[]).entries()) {
      const at = `spec.${field}[${index}]`;
      const file = isRecord(entry) ? entry['file'] : undefined;
      const path = typeof file === 'string' ? registryPath(file) : undefined;
      if (path === undefined) {
        refuse(`${at}.file`, 'names no registry', 'write host, or host..port');
        isPartial = true;
        continue;
      }
      const found = readAuthority(`${at}.data`, isRecord(entry) ? entry['data'] : undefined);
      files.delete(path);
      keeps.delete(path);
      if ('pem' in found) files.set(path, found.pem);
      else {
        keeps.add(path);
        problems.push(found.problem);
      }
    }
  }
  return { files, keeps, isPartial, problems };
}
