/** A host, independent of the process that runs it. */

import type { Exclusive } from './exclusive';
import type { LastingPorts } from './ports';

export interface Host {
  readonly node: string;
  readonly ports: LastingPorts;
  /** One per process: an activity of an earlier Temporal connection may still be writing. */
  readonly exclusive: Exclusive;
  /** A real machine never returns from it. */
  reboot(reason: string, signal: AbortSignal): Promise<void>;
}
