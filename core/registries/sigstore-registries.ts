/**
 * `registries.d/sigstore-registries.yaml`: where signatures are images next to the image. Every scope
 * of a policy and every mirror that can serve it needs an entry.
 */

import { fail, messageOf } from '../errors';
import { toYaml } from '../yaml/write-yaml';
import { findRegistry, pullSources } from './pull-sources';
import { parseReference } from './reference';
import { scopeOf, type RegistriesConf, type Registry } from './registries-conf';
import { isNestedScope, isWildcard } from './scopes';

export const SIGSTORE_REGISTRIES = '/etc/containers/registries.d/sigstore-registries.yaml';

/**
 * The file for these scopes of policies, or undefined when there are none.
 *
 * @param conf - `registries.conf` as written; absent = it is not written
 * @throws `InvalidMachineConfig` when the scope of a policy and a mirror do not make a reference
 * @see MCO pkg/controller/container-runtime-config/helpers.go (7ff337a4),
 *   generateSigstoreRegistriesdConfig
 */
export function sigstoreRegistries(
  policyScopes: readonly string[],
  conf: RegistriesConf | undefined,
): string | undefined {
  if (policyScopes.length === 0) return undefined;
  const places = new Set<string>();
  for (const policyScope of [...policyScopes].sort()) {
    places.add(policyScope);
    for (const place of placesOf(policyScope, conf)) places.add(place);
  }
  const attachments = { 'use-sigstore-attachments': true };
  return toYaml({ docker: Object.fromEntries([...places].map((place) => [place, attachments])) });
}

function placesOf(policyScope: string, conf: RegistriesConf | undefined): readonly string[] {
  if (conf === undefined) return [];
  const inner = conf.registries
    .map(scopeOf)
    .filter((scope) => scope !== policyScope && isNestedScope(scope, policyScope));
  return [policyScope, ...inner].flatMap((scope) => {
    const registry = findRegistry(conf, scope);
    if (registry === undefined) return [];
    try {
      return placesOfScope(scope, registry);
    } catch (error) {
      const what = `error adding clusterimagepolicy scope ${policyScope} relevant mirrors`;
      throw fail('InvalidMachineConfig', `${what}: ${messageOf(error)}`);
    }
  });
}

/** Any image of a scope would do; these parts are taken off again. */
const PATH = '/a';
const TAG = 'aaa';
const DIGEST = `sha256:${'a'.repeat(64)}`;
const LABEL = 'matched';

/** The places from which images of the scope are pulled, by digest or by tag. */
function placesOfScope(scope: string, registry: Registry): readonly string[] {
  const host = isWildcard(scope) ? scope.replace('*', LABEL) : scope;
  const isHost = !host.includes('/');
  const example = parseReference(isHost ? host + PATH : host);
  if (example === undefined)
    throw new Error(`error parsing scope ${host}: invalid reference format`);
  const repository = { ...example, tag: '', digest: '' };
  const sources = [
    ...pullSources(registry, { ...repository, digest: DIGEST }),
    ...pullSources(registry, { ...repository, tag: TAG }),
  ];
  return sources
    .filter(({ endpoint }) => endpoint.location !== '')
    .map(({ reference: { name } }) =>
      isHost && name.endsWith(PATH) ? name.slice(0, -PATH.length) : name,
    );
}
