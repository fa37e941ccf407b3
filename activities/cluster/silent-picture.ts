/**
 * Refreshes the cache of nodes when its watch is silent: a dead connection shows only after 90
 * seconds. A working rollout causes events, so this rarely costs requests.
 */

import type { ClusterPorts } from './ports';

/** The age limit for decisions to take a node out of service or to reboot its machine. */
export const SILENT_MS = 15_000;

type Ports = {
  readonly view: { readonly nodes: Pick<ClusterPorts['view']['nodes'], 'silentMs'> };
  readonly nodes: Pick<ClusterPorts['nodes'], 'refresh'>;
};

export function isSilent({ nodes }: Ports['view']): boolean {
  return nodes.silentMs > SILENT_MS;
}

/** One refresh serves all concurrent callers. */
export class SilentPicture {
  #refreshing: Promise<void> | undefined;
  #refreshedAt = -Infinity;

  constructor(private readonly ports: Ports) {}

  /** @throws `ApiUnavailable` */
  async bringUpToDate(): Promise<void> {
    if (!isSilent(this.ports.view)) return;
    if (performance.now() - this.#refreshedAt <= SILENT_MS) return;
    this.#refreshing ??= this.#refresh();
    await this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const askedAt = performance.now();
    try {
      await this.ports.nodes.refresh();
      this.#refreshedAt = askedAt;
    } finally {
      this.#refreshing = undefined;
    }
  }
}
