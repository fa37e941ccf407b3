/**
 * What containerd can do of the same wishes. Its files are per registry host, so a repository cannot
 * have mirrors of its own, and hosts cannot be named by a pattern.
 *
 * | wish                         | containerd                                                          |
 * | ---------------------------- | ------------------------------------------------------------------- |
 * | mirrors of a host, by digest | exact for images by digest; an image by tag gets its tag from the   |
 * |                              | source, and its contents by digest from the mirrors, too            |
 * | mirrors of a host, by tag    | exact for images by tag; images by digest ask the mirrors, too      |
 * | NeverContactSource, blocked  | exact for a host: it stays in the file, for pushes only             |
 * | insecure                     | exact for a host: HTTPS without verification, then HTTP             |
 * | allowed                      | exact for hosts: all others are in the file `_default`              |
 * | mirrors of a repository      | by digest and under the same path: the mirror is asked for          |
 * |                              | everything of the host. Otherwise a problem, and no file            |
 * | wildcards, search registries | a problem, and no file                                              |
 *
 * To CRI-O, an entry without a port is for all ports of the host that have no entry of their own; to
 * containerd, it is not.
 */

import type { FieldProblem } from '../field-problem';
import { oneOrder } from './mirror-order';
import { scopeOf, type Endpoint, type RegistriesConf, type Registry } from './registries-conf';
import { isNestedScope, isWildcard } from './scopes';

/** Where images of a host are pulled from. */
export interface HostPlan {
  /** Empty = every host without a file of its own. */
  readonly host: string;
  /** Whether the host itself is asked for images. */
  readonly isAsked: boolean;
  readonly insecure: boolean;
  readonly mirrors: readonly MirrorPlan[];
}

export interface MirrorPlan {
  /** `mirror.example.com:5000/path`. */
  readonly location: string;
  readonly insecure: boolean;
  readonly tags: boolean;
}

interface Wishes {
  /** With insecure and blocked registries and mirrors. */
  readonly conf: RegistriesConf;
  readonly blocked: readonly string[];
  readonly allowed: readonly string[];
  readonly search: readonly string[];
}

/** The plans in the order of their hosts, and every wish that none of them keeps. */
export function planHosts({ conf, blocked, allowed, search }: Wishes): {
  readonly plans: readonly HostPlan[];
  readonly problems: readonly FieldProblem[];
} {
  const planner = new Planner(blocked);
  const [hosts, others] = split(conf.registries, (registry) => isHost(scopeOf(registry)));
  for (const registry of hosts) planner.addHost(registry);
  for (const registry of others) planner.addOther(registry);
  planner.allow(allowed);
  planner.refuseSearch(search);
  return { plans: planner.plans(), problems: planner.problems };
}

function isHost(scope: string): boolean {
  return !scope.includes('/') && !isWildcard(scope);
}

function split<T>(list: readonly T[], fits: (one: T) => boolean): readonly [T[], T[]] {
  return [list.filter(fits), list.filter((one) => !fits(one))];
}

interface Draft {
  isAsked: boolean;
  insecure: boolean;
  readonly mirrors: Map<string, { insecure: boolean; tags: boolean }>;
}

class Planner {
  readonly problems: FieldProblem[] = [];
  readonly #blocked: readonly string[];
  readonly #drafts = new Map<string, Draft>();

  constructor(blocked: readonly string[]) {
    this.#blocked = blocked;
  }

  plans(): readonly HostPlan[] {
    const sorted = [...this.#drafts].sort(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([host, { isAsked, insecure, mirrors }]) => ({
      host,
      isAsked,
      insecure,
      mirrors: [...mirrors].map(([location, mirror]) => ({ location, ...mirror })),
    }));
  }

  addHost(registry: Registry): void {
    const draft = this.#draft(scopeOf(registry));
    draft.isAsked = !registry.blocked;
    draft.insecure = registry.insecure;
    const { mirrors, areOrdered } = oneOrder(registry.mirrors);
    for (const mirror of mirrors) this.#addMirror(draft, mirror, mirror.location);
    if (areOrdered) return;
    this.#report(
      scopeOf(registry),
      'containerd tries mirrors in one order, and those for digests and for tags are in two',
      'name the mirrors in the same order in ImageDigestMirrorSets and ImageTagMirrorSets',
    );
  }

  addOther(registry: Registry): void {
    const scope = scopeOf(registry);
    if (isWildcard(scope)) {
      this.#report(
        scope,
        'containerd knows no hosts by a pattern, and does nothing of this entry',
        'name each host',
      );
      return;
    }
    this.#addRepository(registry);
  }

  #addRepository(registry: Registry): void {
    const scope = scopeOf(registry);
    const [host = ''] = scope.split('/', 1);
    const own = this.#drafts.get(host);
    if (registry.blocked && (own?.isAsked ?? true)) {
      this.#report(
        scope,
        'containerd blocks whole registries only, and still contacts this source',
        `block ${host}, or let the registry refuse the repository`,
      );
    }
    if (registry.insecure && !(own?.insecure ?? false)) {
      this.#report(
        scope,
        'containerd has insecure registries only as a whole, and still verifies this one',
        `name ${host} as insecure, or give it a certificate that the machines trust`,
      );
    }
    for (const mirror of registry.mirrors) this.#addRepositoryMirror(scope, mirror);
  }

  #addRepositoryMirror(scope: string, mirror: Endpoint): void {
    const [host = ''] = scope.split('/', 1);
    const path = scope.slice(host.length);
    const { location, pullFromMirror } = mirror;
    const root = location.endsWith(path) ? location.slice(0, -path.length) : undefined;
    if (root !== undefined && this.#drafts.get(host)?.mirrors.has(root) === true) return;
    if (root === undefined || root === '') {
      this.#report(
        scope,
        `containerd cannot pull this repository from ${location}, because the path differs`,
        `mirror it to a place that ends with ${path}, or mirror all of ${host}`,
      );
    } else if (pullFromMirror !== 'digest-only') {
      this.#report(
        scope,
        `containerd cannot use ${location} for tags of this repository only`,
        `mirror all of ${host}, or use an ImageDigestMirrorSet`,
      );
    } else {
      this.#addMirror(this.#draft(host), mirror, root);
      this.#report(
        scope,
        `containerd asks ${root} for every image of ${host} by digest, not only for this repository`,
        'nothing, if the mirror answers that it has no other images',
      );
    }
  }

  /** @param location - without the path of a mirrored repository */
  #addMirror(draft: Draft, mirror: Endpoint, location: string): void {
    // Its own entry would not be read when it is asked as a mirror.
    if (this.#blocked.some((scope) => isNestedScope(mirror.location, scope))) return;
    const known = draft.mirrors.get(location);
    draft.mirrors.set(location, {
      insecure: mirror.insecure || (known?.insecure ?? false),
      tags: mirror.pullFromMirror !== 'digest-only' || (known?.tags ?? false),
    });
  }

  allow(scopes: readonly string[]): void {
    if (scopes.length === 0) return;
    const pattern = scopes.find(isWildcard);
    if (pattern !== undefined) {
      this.#report(
        pattern,
        'containerd knows no hosts by a pattern, and blocks nothing',
        'name each allowed host',
      );
      return;
    }
    for (const scope of scopes) {
      const [host = ''] = scope.split('/', 1);
      this.#draft(host);
      if (host === scope) continue;
      this.#report(
        scope,
        `containerd allows whole registries only: all of ${host} is allowed`,
        'let the registry refuse other repositories',
      );
    }
    for (const [host, draft] of this.#drafts) {
      const isAllowed = scopes.some((scope) => scope === host || scope.startsWith(`${host}/`));
      if (!isAllowed) draft.isAsked = false;
    }
    this.#draft('').isAsked = false;
  }

  refuseSearch(registries: readonly string[]): void {
    if (registries.every((registry) => registry === 'docker.io')) return;
    this.#report(
      registries.join(', '),
      'containerd looks up short names on docker.io only',
      'write images with their registry',
    );
  }

  #draft(host: string): Draft {
    const draft = this.#drafts.get(host) ?? { isAsked: true, insecure: false, mirrors: new Map() };
    this.#drafts.set(host, draft);
    return draft;
  }

  #report(scope: string, problem: string, fix: string): void {
    this.problems.push({ path: [], problem: `registry ${scope}: ${problem}`, fix });
  }
}
