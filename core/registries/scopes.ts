/** Scopes: `example.com`, `example.com:5000/a/b`, `*.example.com`. */

import { HOST_PATTERN, LABEL_PATTERN, PATH_PATTERN } from './reference';

const PLACE = `${HOST_PATTERN}(?:/${PATH_PATTERN})?`;

const SOURCE = new RegExp(`^(?:\\*(?:\\.${LABEL_PATTERN})+|${PLACE})$`);
const MIRROR = new RegExp(`^${PLACE}$`);

/** Whether a mirror rule may have this source: a wildcard of a domain, or a place in a registry. */
export function isSource(text: string): boolean {
  return SOURCE.test(text);
}

/** Whether a mirror rule may have this mirror: a place in a registry. */
export function isMirror(text: string): boolean {
  return MIRROR.test(text);
}

/** Whether an Image config may name this registry. Only wildcards are looked at. */
export function isRegistryScope(scope: string): boolean {
  if (scope === '') return false;
  if (!scope.includes('*')) return true;
  return scope.startsWith('*.') && !/[/@:*]/.test(scope.slice(2));
}

export function isWildcard(scope: string): boolean {
  return scope.startsWith('*.');
}

/**
 * Whether everything in `inner` is in `outer`, too. A port is part of the host, so
 * `example.com:5000` is not in `example.com`.
 *
 * @see openshift/runtime-utils pkg/registries/registries.go, ScopeIsNestedInsideScope
 */
export function isNestedScope(inner: string, outer: string): boolean {
  if (inner === outer || inner.startsWith(`${outer}/`)) return true;
  if (!isWildcard(outer)) return false;
  const domain = outer.slice(1);
  const port = inner.indexOf(':');
  if (port !== -1) {
    const host = inner.slice(0, port);
    return host.endsWith(domain) && !host.includes('/');
  }
  return (inner.split('/', 1)[0] ?? '').endsWith(domain);
}
