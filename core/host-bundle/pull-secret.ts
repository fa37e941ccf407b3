/** The global pull secret. No message quotes it. */

import { CONTROLLER_CONFIG } from '../controller-config';
import { decodeBase64 } from '../encoding';
import { isRecord } from '../is-record';
import { OBJECT_NAME } from '../names';
import type { BundleProblem } from './types';

const CONFIG_OBJECT = `controllerconfig ${CONTROLLER_CONFIG}`;
const TYPE = 'kubernetes.io/dockerconfigjson';
const KEY = '.dockerconfigjson';

export interface SecretReference {
  readonly namespace: string;
  readonly name: string;
}

/** The Secret of `spec.pullSecret`, as somebody found it. */
export type FoundSecret =
  | { readonly state: 'found'; readonly type?: string | undefined; readonly data?: unknown }
  | { readonly state: 'absent' }
  /** Not known yet, or not readable. */
  | { readonly state: 'unread'; readonly because: string };

/** Undefined = the ControllerConfig names none. */
export function pullSecretReference(
  spec: Readonly<Record<string, unknown>>,
): SecretReference | { readonly problem: BundleProblem } | undefined {
  const reference = spec['pullSecret'];
  if (reference === undefined || reference === null) return undefined;
  const { namespace, name } = isRecord(reference) ? reference : {};
  const isName = (value: unknown): value is string =>
    typeof value === 'string' && OBJECT_NAME.test(value);
  if (isName(namespace) && isName(name)) return { namespace, name };
  return {
    problem: {
      object: CONFIG_OBJECT,
      path: isName(name) ? 'spec.pullSecret.namespace' : 'spec.pullSecret.name',
      problem: 'names no Secret',
      fix: 'write the namespace and the name of a Secret',
    },
  };
}

type ReadSecret = { readonly bytes: Uint8Array } | { readonly problem: BundleProblem };

export function readPullSecret(reference: SecretReference, found: FoundSecret): ReadSecret {
  const object = `secret ${reference.namespace}/${reference.name}`;
  if (found.state === 'unread') {
    const fix =
      'let the server read this one Secret (docs/machine-certificates.md, Rights of the server)';
    const problem = `names a Secret that the server has not read: ${found.because}`;
    return {
      problem: { object: `${CONFIG_OBJECT}, ${object}`, path: 'spec.pullSecret', problem, fix },
    };
  }
  if (found.state === 'absent') {
    const fix = `create ${object}, or correct the reference`;
    const problem = `names ${object}, which does not exist`;
    return { problem: { object: CONFIG_OBJECT, path: 'spec.pullSecret', problem, fix } };
  }
  const fix = `create it with kubectl create secret docker-registry, type ${TYPE}`;
  if (found.type !== TYPE) {
    return { problem: { object, path: 'type', problem: `is not ${TYPE}`, fix } };
  }
  const value = isRecord(found.data) ? found.data[KEY] : undefined;
  return readCredentials(value, { object, path: `data[${KEY}]`, fix });
}

/** The credentials for the registry inside the cluster; undefined = none. */
export function internalPullSecret(
  spec: Readonly<Record<string, unknown>>,
): ReadSecret | undefined {
  const value = spec['internalRegistryPullSecret'];
  if (value === undefined || value === null || value === '') return undefined;
  return readCredentials(value, {
    object: CONFIG_OBJECT,
    path: 'spec.internalRegistryPullSecret',
    fix: 'write a Docker config (JSON) in base 64',
  });
}

/** The error of a parser would quote the secret. */
function readCredentials(value: unknown, where: Omit<BundleProblem, 'problem'>): ReadSecret {
  const problem = (says: string): ReadSecret => ({ problem: { ...where, problem: says } });
  if (typeof value !== 'string') return problem('is missing');
  const decoded = decodeBase64(value);
  if ('error' in decoded) return problem('is not base 64');
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(decoded.bytes).toString('utf8'));
  } catch {
    return problem('is not JSON');
  }
  const isConfig = isRecord(parsed) && (parsed['auths'] === undefined || isRecord(parsed['auths']));
  return isConfig ? { bytes: decoded.bytes } : problem('is not a Docker config with auths');
}
