/** One host: what decides on its updates needs this of it, whoever runs it. */

import type { Exclusive } from './exclusive';
import type { LastingPorts } from './ports';

export interface Host {
  readonly node: string;
  readonly ports: LastingPorts;
  /**
   * Everything that changes this host goes through it. One for the whole process: an activity that its
   * Temporal worker left behind may still be writing when the next connection is there.
   */
  readonly exclusive: Exclusive;
  /** Takes the machine down and up again; a real one never returns. */
  reboot(reason: string, signal: AbortSignal): Promise<void>;
}
