/** From where an image is pulled, as containers/image reads `registries.conf`. */

import { parseNamed, referenceText, type ImageReference } from './reference';
import { scopeOf, type Endpoint, type RegistriesConf, type Registry } from './registries-conf';
import { isWildcard } from './scopes';

export interface PullSource {
  readonly endpoint: Endpoint;
  readonly reference: ImageReference;
}

/**
 * The entry with the longest prefix that fits; undefined = none does.
 *
 * @param text - a reference or a scope
 * @see containers/image pkg/sysregistriesv2, FindRegistry
 */
export function findRegistry(conf: RegistriesConf, text: string): Registry | undefined {
  let found: Registry | undefined;
  for (const registry of conf.registries) {
    if (prefixLength(text, prefixOf(registry)) === undefined) continue;
    // Of equal prefixes, the first one counts.
    if (found === undefined || prefixOf(registry).length > prefixOf(found).length) found = registry;
  }
  return found;
}

/**
 * The places to try, in order: mirrors that are for such a reference, and then the registry itself,
 * blocked or not.
 *
 * @throws Error when a place and the reference do not make a reference
 * @see containers/image pkg/sysregistriesv2, PullSourcesFromReference
 */
export function pullSources(registry: Registry, reference: ImageReference): readonly PullSource[] {
  const endpoints = [...registry.mirrors.filter(servesFor(registry, reference)), registry];
  return endpoints.map((endpoint) => ({
    endpoint,
    reference: rewritten(endpoint, reference, prefixOf(registry)),
  }));
}

function servesFor(registry: Registry, { digest }: ImageReference): (mirror: Endpoint) => boolean {
  const byDigest = digest !== '';
  if (registry.mirrorByDigestOnly) return () => byDigest;
  return ({ pullFromMirror }) =>
    !(pullFromMirror === 'digest-only' && !byDigest) &&
    !(pullFromMirror === 'tag-only' && byDigest);
}

function rewritten(
  { location }: Endpoint,
  reference: ImageReference,
  prefix: string,
): ImageReference {
  // Only an entry with a wildcard has no place of its own.
  if (location === '') return reference;
  const text = referenceText(reference);
  const length = prefixLength(text, prefix);
  if (length === undefined) throw new Error(`invalid prefix '${prefix}' for reference '${text}'`);
  const moved = parseNamed(location.replace(/\/+$/, '') + text.slice(length));
  if (moved === undefined) {
    throw new Error(`rewriting reference: ${location}${text.slice(length)} is no full reference`);
  }
  return moved;
}

/** A slash at the end means nothing. */
function prefixOf(registry: Registry): string {
  return scopeOf(registry).replace(/\/+$/, '');
}

/** How much of the text the prefix covers; undefined = it does not fit. */
function prefixLength(text: string, prefix: string): number | undefined {
  const end = isWildcard(prefix) ? domainEnd(text, prefix.slice(1)) : plainEnd(text, prefix);
  if (end === undefined) return undefined;
  return end === text.length || /[:/@]/.test(text.charAt(end)) ? end : undefined;
}

function plainEnd(text: string, prefix: string): number | undefined {
  return text.startsWith(prefix) ? prefix.length : undefined;
}

function domainEnd(text: string, domain: string): number | undefined {
  const at = text.indexOf(domain);
  return at === -1 || text.slice(0, at).includes('/') ? undefined : at + domain.length;
}
