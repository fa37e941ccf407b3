/** Says on MachineConfigNodes how updates have ended that were lost before they could. */

import { failureName } from '../../core/errors';
import type { MachineConfigNode, Node } from '../../core/node/types';
import type { Log } from '../../adapters/kube/transport';
import type { Writer } from '../fenced-writer';
import { showStatus } from './show-status';
import { unsaidEnd } from './unsaid-end';

/** An update that lives says it itself within moments. Both may: they write the same. */
const UNSAID_MS = 10_000;

export interface EndKeeperDeps {
  readonly writer: Pick<Writer, 'patch' | 'apply'>;
  /** As the server has it now. @throws `ObjectNotFound` */
  readonly readNode: (name: string) => Promise<Node>;
  readonly log: Log;
  /** RFC 3339. */
  readonly now: () => string;
}

export class EndKeeper {
  /** By node: since when its end is not said. */
  readonly #since = new Map<string, number>();

  constructor(
    private readonly deps: EndKeeperDeps,
    /** Has the node looked at again. */
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
    // The next update has begun, which the watch will show.
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
   * The picture may be older than an update that has begun: that takes the Node before it writes the
   * MachineConfigNode, and whichever it has not written yet it writes over this.
   */
  async #newest(shown: Node): Promise<Node> {
    try {
      return await this.deps.readNode(shown.metadata.name);
    } catch (error) {
      if (failureName(error) !== 'ObjectNotFound') throw error;
      // Its MachineConfigNode goes with it.
      return { metadata: { name: shown.metadata.name } };
    }
  }
}
