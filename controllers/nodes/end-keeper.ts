/** Writes the end of lost updates to MachineConfigNodes. */

import { failureName } from '../../core/errors';
import type { MachineConfigNode, Node } from '../../core/node/types';
import type { Log } from '../../adapters/kube/transport';
import type { Writer } from '../fenced-writer';
import { showStatus } from './show-status';
import { unsaidEnd } from './unsaid-end';

/** A running update writes its end within moments. Both may write the same. */
const UNSAID_MS = 10_000;

interface EndKeeperDeps {
  readonly writer: Pick<Writer, 'patch' | 'apply'>;
  /** @throws `ObjectNotFound` */
  readonly readNode: (name: string) => Promise<Node>;
  readonly log: Log;
  readonly now: () => string;
}

export class EndKeeper {
  /** Since when the end is missing, by node. */
  readonly #since = new Map<string, number>();

  constructor(
    private readonly deps: EndKeeperDeps,
    private readonly again: (name: string, delayMs: number) => void,
  ) {}

  forget(name: string): void {
    this.#since.delete(name);
  }

  async look(node: Node, known: MachineConfigNode): Promise<void> {
    const { now, log, writer } = this.deps;
    const { name } = node.metadata;
    if (unsaidEnd(node, known, now()) === undefined) {
      this.forget(name);
      return;
    }
    const leftMs = this.#leftMs(name);
    if (leftMs > 0) {
      this.again(name, leftMs);
      return;
    }
    this.forget(name);
    const status = unsaidEnd(await this.#newest(node), known, now());
    // The next update has begun.
    if (status === undefined) return;
    if (await showStatus(writer, known, status)) {
      const config = status.configVersion.desired;
      log.info({ node: name, config }, 'the end of a lost update is shown');
    } else this.again(name, UNSAID_MS);
  }

  #leftMs(name: string): number {
    const now = performance.now();
    const since = this.#since.get(name) ?? now;
    this.#since.set(name, since);
    return since + UNSAID_MS - now;
  }

  /**
   * The cache may be older than the next update, which writes the Node before the
   * MachineConfigNode: it shows here, or overwrites this later.
   */
  async #newest(shown: Node): Promise<Node> {
    try {
      return await this.deps.readNode(shown.metadata.name);
    } catch (error) {
      if (failureName(error) !== 'ObjectNotFound') throw error;
      // Its MachineConfigNode is deleted with it.
      return { metadata: { name: shown.metadata.name } };
    }
  }
}
