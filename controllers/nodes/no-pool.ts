/** Reports nodes that no pool selects, once each: nothing is ever rolled to them. */

import { NODES } from '../../adapters/kube/resources';
import type { Node } from '../../core/node/types';
import { nodesInNoPool, poolHint } from '../../core/pool/membership';
import type { ClusterPicture } from '../cluster-picture';
import type { EventRecorder } from '../event-recorder';

const IN_NO_POOL = 'InNoPool';
/** A node gets its label a moment after it has joined. */
const PATIENCE_MS = 60_000;
/** Per leader: thousands of Events would fill the API server. */
const TOLD_AT_MOST = 100;

export class NoPool {
  /** Since when it is in no pool, ms. */
  readonly #since = new Map<string, number>();
  readonly #told = new Set<string>();

  /** @param lookAgain - queues the node after so many milliseconds */
  constructor(
    private readonly deps: { readonly picture: ClusterPicture; readonly events: EventRecorder },
    private readonly lookAgain: (name: string, delayMs: number) => void,
  ) {}

  /** @param pool - undefined = none or several select the node */
  look(node: Node, pool: string | undefined): void {
    const { name } = node.metadata;
    const pools = this.deps.picture.pools.list();
    if (pool !== undefined || nodesInNoPool([node], pools).length === 0) {
      this.forget(name);
      this.deps.events.over({ resource: NODES, object: node }, IN_NO_POOL);
      return;
    }
    const since = this.#since.get(name) ?? Date.now();
    this.#since.set(name, since);
    const waitMs = since + PATIENCE_MS - Date.now();
    if (waitMs > 0) this.lookAgain(name, waitMs);
    else this.#tell(node, poolHint(node, pools));
  }

  forget(name: string): void {
    this.#since.delete(name);
    this.#told.delete(name);
  }

  #tell(node: Node, hint: string): void {
    const { name } = node.metadata;
    if (this.#told.has(name) || this.#told.size >= TOLD_AT_MOST) return;
    this.#told.add(name);
    const message = `no pool takes the node, so it gets no config: ${hint}`;
    this.deps.events.record({ resource: NODES, object: node }, 'Normal', IN_NO_POOL, message);
  }
}
