/** Questions about a machine's files that show what runs on it. */

/** Paths and units as the machine itself sees them. */
export interface MachineTree {
  /** Follows links. */
  has(path: string): boolean;
  /** A masked unit is `absent`, too. */
  unit(name: string): 'enabled' | 'disabled' | 'absent';
  /** systemd has started the unit, and it has not ended. */
  isRunning(unit: string): boolean;
  /** Names in a directory; empty when there is no such directory. */
  list(directory: string): readonly string[];
}

/** The link that exists while systemd runs a unit; each start writes it anew. */
export function runningLink(unit: string): string {
  return `/run/systemd/units/invocation:${unit}`;
}
