/** A host, independent of the process that runs it. */

import type { Exclusive } from './exclusive';
import type { LastingPorts } from './ports';

export interface Host {
  readonly node: string;
  readonly ports: LastingPorts;
  /**
   * Serialises all changes of this host. One per process: an activity of an earlier Temporal
   * connection may still be writing.
   */
  readonly exclusive: Exclusive;
  /** Takes the machine down and up again; a real one never returns. */
  reboot(reason: string, signal: AbortSignal): Promise<void>;
}
