/** What a simulated machine is to become, and what it keeps of the update that is under way. */

/** A rendered config, as far as a machine cares. */
export interface SimulatedConfig {
  readonly name: string;
  /** The operating system that it wants; another one takes a reboot. */
  readonly os: string;
  /** Pods must leave although nothing reboots. */
  readonly drain: boolean;
  readonly restartsService: boolean;
  /** Nobody can apply it to a running machine. */
  readonly unreconcilable: boolean;
  /** Its operating system does not come up. */
  readonly doesNotBoot: boolean;
  /** Whoever boots it is not heard of again, until it goes back. */
  readonly cutsNetwork: boolean;
  /** Whoever has written of it is not heard of again, until it goes back. */
  readonly cutsWhenWritten?: boolean;
  /** Whoever has verified it is not heard of again, until it goes back. */
  readonly cutsOnceVerified?: boolean;
  /** Whoever boots it is right in every respect, and its node does not become Ready. */
  readonly neverReady: boolean;
  /** Whoever boots it is Ready, and one of its units does not start. */
  readonly unitFails: boolean;
}

interface GoingBack {
  readonly bootId?: number;
  readonly due?: true;
  readonly because: string;
  readonly again: boolean;
  /** No order began it, and the update is to blame. */
  readonly failed?: true;
  /** Absent = nobody has asked for it. */
  readonly askedAt?: number;
}

export interface Journal {
  readonly target: SimulatedConfig;
  readonly previousFiles: string;
  readonly previousOs: string;
  readonly reboots: boolean;
  readonly begunIn: number;
  readonly run: string;
  applied: boolean;
  services: boolean;
  verified: boolean;
  /** Boot in which it was verified last. */
  verifiedIn?: number;
  /** Whoever verified it waits for the commit, which is to follow by then: the machine may still take it back. */
  commitBy?: number;
  /** Boot in which the reboot was armed, and since when that was asked for. */
  armed?: number;
  armAskedAt?: number;
  reconnectSeconds?: number;
  /**
   * `bootId`: the boot that must end. `due`: whatever process starts in it carries the reboot out.
   * `again`: an accident, so the update may begin anew.
   */
  goingBack?: GoingBack;
}

export function secondsAway({ reconnectSeconds = 600 }: Journal): number {
  return reconnectSeconds;
}

/**
 * Nothing that a machine hears, or does not hear from now on, changes what becomes of it. A process that starts after
 * `commitBy` counts as answered here; the product's waits for an answer first, unless one is noted in its journal.
 */
export function isDecided({ verified, commitBy, goingBack }: Journal, now: number): boolean {
  if (goingBack !== undefined) return true;
  return verified && (commitBy === undefined || commitBy <= now);
}

/** Whether what starts early has read the files of the update: by order, or by accident. */
export function hasStartedOn({ armed, applied, reboots, begunIn }: Journal, boot: number): boolean {
  return armed === undefined ? applied && !reboots && begunIn !== boot : armed !== boot;
}

/** When the order for a reboot was given; undefined = nobody gave one. */
export function askedAtOf(
  journal: Journal | undefined,
  cause: 'update' | 'back' | 'accident',
): number | undefined {
  return cause === 'update' ? journal?.armAskedAt : journal?.goingBack?.askedAt;
}
