/** What is asked of the files of a machine, to tell what runs on it. */

/** Paths and units are those that the machine itself sees. */
export interface MachineTree {
  /** Something is there; links are followed. */
  has(path: string): boolean;
  /** `absent` is also a unit that is masked. */
  unit(name: string): 'enabled' | 'disabled' | 'absent';
  /** systemd has started the unit, and it has not ended. */
  isRunning(unit: string): boolean;
  /** Names in a directory; none when there is no such directory. */
  list(directory: string): readonly string[];
}

/** The link that is there while systemd runs a unit; it is written anew whenever the unit starts. */
export function runningLink(unit: string): string {
  return `/run/systemd/units/invocation:${unit}`;
}
