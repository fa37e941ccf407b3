/** What insecure and blocked registries and mirror sets change in `registries.conf`. */

import { digestRules, mergeMirrors, tagRules, type MergedMirrors } from './mirror-sets';
import { scopeOf, type Endpoint, type RegistriesConf, type Registry } from './registries-conf';
import { isNestedScope, isWildcard } from './scopes';
import type { MirrorSets } from './types';

export interface RegistryEdits {
  readonly insecure: readonly string[];
  readonly blocked: readonly string[];
  readonly mirrors: MirrorSets;
}

/**
 * The config with the edits. Only the most precise entry of `registries.conf` counts for an image,
 * so insecure, blocked and mirrors are also given to the entries inside of the named scope.
 *
 * @param edits - without refusals
 * @see openshift/runtime-utils pkg/registries/registries.go, EditRegistriesConfig
 */
export function editRegistries(conf: RegistriesConf, edits: RegistryEdits): RegistriesConf {
  const { insecure, blocked, mirrors } = edits;
  const byDigest = mergeMirrors(digestRules(mirrors));
  const byTag = mergeMirrors(tagRules(mirrors));
  const editor = new Editor(conf.registries);
  for (const merged of byDigest) editor.mirror(merged, 'digest-only');
  for (const merged of byTag) editor.mirror(merged, 'tag-only');
  // Blocked entries are there before insecure ones are given to the entries inside of them.
  for (const scope of blocked) editor.entry(scope);
  for (const scope of insecure) editor.makeInsecure(scope);
  for (const scope of blocked) editor.block(scope);
  for (const { source } of [...byDigest, ...byTag]) editor.giveMirrorsToInner(source);
  return { ...conf, registries: editor.registries };
}

type Editable = { -readonly [Field in keyof Registry]: Registry[Field] };

class Editor {
  readonly registries: Editable[];

  constructor(registries: readonly Registry[]) {
    this.registries = registries.map((registry) => ({ ...registry }));
  }

  /** The entry of exactly this scope, added at the end if there is none. */
  entry(scope: string): Editable {
    const found = this.registries.find((registry) => scopeOf(registry) === scope);
    if (found !== undefined) return found;
    const place = isWildcard(scope)
      ? { prefix: scope, location: '' }
      : { prefix: '', location: scope };
    const added = { ...NEW_REGISTRY, ...place };
    this.registries.push(added);
    return added;
  }

  mirror({ source, mirrors, neverContactSource }: MergedMirrors, pullFromMirror: string): void {
    const registry = this.entry(source);
    if (neverContactSource) registry.blocked = true;
    const added = mirrors.map((location) => ({ location, insecure: false, pullFromMirror }));
    registry.mirrors = [...registry.mirrors, ...added];
  }

  makeInsecure(scope: string): void {
    this.entry(scope);
    for (const registry of this.registries) {
      if (isNestedScope(scopeOf(registry), scope)) registry.insecure = true;
      registry.mirrors = registry.mirrors.map((mirror) =>
        isNestedScope(mirror.location, scope) ? { ...mirror, insecure: true } : mirror,
      );
    }
  }

  block(scope: string): void {
    this.entry(scope);
    for (const registry of this.registries) {
      if (isNestedScope(scopeOf(registry), scope)) registry.blocked = true;
    }
  }

  giveMirrorsToInner(source: string): void {
    const { mirrors } = this.entry(source);
    for (const registry of this.registries) {
      const scope = scopeOf(registry);
      if (scope === source || !isNestedScope(scope, source) || registry.mirrors.length > 0)
        continue;
      registry.mirrors = innerMirrors(source, scope, mirrors);
    }
  }
}

const NEW_REGISTRY: Registry = {
  prefix: '',
  location: '',
  insecure: false,
  pullFromMirror: '',
  blocked: false,
  mirrorByDigestOnly: false,
  mirrors: [],
};

/** The same mirrors for a scope inside of the mirrored one. */
function innerMirrors(
  source: string,
  scope: string,
  mirrors: readonly Endpoint[],
): readonly Endpoint[] {
  if (isWildcard(source)) {
    throw new Error(
      `internal error: mirrorsAdjustedForNestedScope for a wildcard scope ${JSON.stringify(source)}`,
    );
  }
  const rest = scope.slice(source.length);
  return mirrors.map((mirror) => ({ ...mirror, location: mirror.location + rest }));
}
