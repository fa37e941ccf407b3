/** Which blocked and allowed registries apply, so that the cluster can still pull its own release. */

import { goQuote } from '../encoding/go-quote';
import { fail, messageOf } from '../errors';
import { editRegistries } from './edit-registries';
import { findRegistry, pullSources } from './pull-sources';
import { parseNamed, type ImageReference } from './reference';
import { EMPTY_CONF } from './registries-conf';
import { isNestedScope } from './scopes';
import type { ImageSpec, MirrorSets } from './types';

export interface ValidLists {
  /** Absent lists are not the same as empty ones: MCO then writes no file. */
  readonly registriesBlocked?: readonly string[];
  readonly policyBlocked?: readonly string[];
  readonly allowed?: readonly string[];
  /** Why entries were left out, in MCO's words; MCO only logs it. */
  readonly error?: string;
}

/** @throws `InvalidMachineConfig` when the release image is no full reference */
export function payloadReference(releaseImage: string): ImageReference {
  const reference = parseNamed(releaseImage);
  if (reference === undefined) {
    throw fail('InvalidMachineConfig', 'error parsing reference of release image');
  }
  return reference;
}

/**
 * The lists without entries that would block the repository of the release. It may be blocked when
 * a mirror for digests serves it; then policies allow it. No lists at all when that cannot be found
 * out.
 *
 * @throws `InvalidMachineConfig` when the release image is no full reference
 * @see MCO pkg/controller/container-runtime-config/helpers.go (7ff337a4),
 *   getValidBlockedAndAllowedRegistries
 */
export function validLists(releaseImage: string, spec: ImageSpec, mirrors: MirrorSets): ValidLists {
  const payload = payloadReference(releaseImage);
  const sources = spec.registrySources ?? {};
  const registriesBlocked: string[] = [];
  const policyBlocked: string[] = [];
  const allowed: string[] = [];
  const refused: string[] = [];
  let canBlock: boolean | undefined;
  for (const scope of sources.blockedRegistries ?? []) {
    const coversPayload = isNestedScope(payload.name, scope);
    if (coversPayload) {
      try {
        canBlock ??= hasUnblockedMirror(payload, spec, mirrors);
      } catch (error) {
        return { error: messageOf(error) };
      }
    }
    if (coversPayload && canBlock !== true) {
      refused.push(scope);
      continue;
    }
    registriesBlocked.push(scope);
    if (payload.name !== scope) policyBlocked.push(scope);
    if (coversPayload) allowed.push(payload.name);
  }
  allowed.push(...(sources.allowedRegistries ?? []));
  return {
    ...(registriesBlocked.length === 0 ? {} : { registriesBlocked }),
    ...(policyBlocked.length === 0 ? {} : { policyBlocked }),
    ...(allowed.length === 0 ? {} : { allowed }),
    ...(refused.length === 0 ? {} : { error: refusal(refused) }),
  };
}

function refusal(scopes: readonly string[]): string {
  const list = `[${scopes.map(goQuote).join(' ')}]`;
  return `error adding ${list} to blocked registries, cannot block the repository being used by the payload`;
}

/** Mirrors for tags do not count: a release is pulled by digest. */
function hasUnblockedMirror(
  payload: ImageReference,
  { registrySources = {} }: ImageSpec,
  mirrors: MirrorSets,
): boolean {
  const { insecureRegistries: insecure = [], blockedRegistries: blocked = [] } = registrySources;
  const byDigest = { ...mirrors, tagMirrorSets: [] };
  const conf = editRegistries(EMPTY_CONF, { insecure, blocked, mirrors: byDigest });
  const registry = findRegistry(conf, payload.name);
  if (registry === undefined) return false;
  return pullSources(registry, payload).some(
    ({ reference }) => !blocked.some((scope) => isNestedScope(reference.name, scope)),
  );
}
