/** How many host workers have which version: kept up to date one host at a time, because there may be thousands. */

import type { HostWorkers } from './types';

const VERSIONS_SHOWN = 20;

export class HostVersions {
  /** By node; undefined = its host has never reported. */
  readonly #versions = new Map<string, string | undefined>();
  readonly #hosts = new Map<string, number>();

  /** @returns whether anything has changed */
  set(node: string, version: string | undefined): boolean {
    if (this.#versions.has(node) && this.#versions.get(node) === version) return false;
    this.delete(node);
    this.#versions.set(node, version);
    if (version !== undefined) this.#hosts.set(version, (this.#hosts.get(version) ?? 0) + 1);
    return true;
  }

  /** @returns whether anything has changed */
  delete(node: string): boolean {
    const version = this.#versions.get(node);
    if (version !== undefined) {
      const hosts = (this.#hosts.get(version) ?? 0) - 1;
      if (hosts > 0) this.#hosts.set(version, hosts);
      else this.#hosts.delete(version);
    }
    return this.#versions.delete(node);
  }

  /** The least frequent ones of many versions are left out. */
  get counted(): HostWorkers {
    const versions = [...this.#hosts]
      .map(([version, hosts]) => ({ version, hosts }))
      .sort((a, b) => b.hosts - a.hosts || (a.version < b.version ? -1 : 1));
    const reported = versions.reduce((sum, { hosts }) => sum + hosts, 0);
    const neverReported = this.#versions.size - reported;
    return { reported, neverReported, versions: versions.slice(0, VERSIONS_SHOWN) };
  }
}

/** `197 of 0.2.0, 3 of 0.1.9, 1 never reported` */
export function hostWorkersLine({ versions, neverReported }: HostWorkers): string {
  const parts = [
    ...versions.map(({ version, hosts }) => `${hosts} of ${version}`),
    ...(neverReported > 0 ? [`${neverReported} never reported`] : []),
  ];
  return parts.length === 0 ? 'none' : parts.join(', ');
}
