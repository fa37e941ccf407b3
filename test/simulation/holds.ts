/** Nodes that a person holds for a config, and since when. For the observer, which shares no decision with the product. */

import type { Node } from '../../core/node/types';
import type { VirtualClock } from './clock';
import { DECIDING_MS } from './outages';

const HELD = 'slipway.dev/held-for';

interface Hold {
  readonly config: string;
  readonly since: number;
}

export class Holds {
  private readonly holds = new Map<string, Hold>();

  constructor(private readonly clock: VirtualClock) {}

  /** @param node - undefined = it was deleted */
  seen(name: string, node: Node | undefined): void {
    const config = node?.metadata.annotations?.[HELD];
    if (config === undefined) this.holds.delete(name);
    else if (this.holds.get(name)?.config !== config) {
      this.holds.set(name, { config, since: this.clock.now });
    }
  }

  /** A person says: try it again. Its mark goes a moment later, and does not count until then. */
  toldToRetry(name: string): void {
    const hold = this.holds.get(name);
    if (hold !== undefined) this.holds.set(name, { ...hold, since: Infinity });
  }

  /**
   * An update that was past its point of no return when the hold came goes on.
   *
   * @param askedAt - when its machine was told to reboot into the config
   * @returns for how many seconds the node had been held for it by then; undefined = not for long enough
   */
  before(name: string, config: string, askedAt: number): number | undefined {
    const hold = this.holds.get(name);
    if (hold?.config !== config || hold.since > askedAt - DECIDING_MS) return undefined;
    return (askedAt - hold.since) / 1000;
  }
}
