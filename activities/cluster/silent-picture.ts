/**
 * What to do about a picture that nothing has been heard for: of a watch whose API server hangs, or whose
 * connection leads nowhere, nobody is told for a minute and a half. Other requests may go elsewhere meanwhile,
 * and machines go down. In a rollout that works something is heard all the time, so that this costs nothing;
 * where all is quiet, it costs a request.
 */

import type { ClusterPorts } from './ports';

/** So old may be what decides whether a node is taken out of service, or its machine rebooted. */
export const SILENT_MS = 15_000;

type Ports = {
  readonly view: { readonly nodes: Pick<ClusterPorts['view']['nodes'], 'silentMs'> };
  readonly nodes: Pick<ClusterPorts['nodes'], 'refresh'>;
};

export function isSilent({ nodes }: Ports['view']): boolean {
  return nodes.silentMs > SILENT_MS;
}

/** Has the picture of all nodes brought up to date when it may be old. One request serves all who ask at once. */
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
