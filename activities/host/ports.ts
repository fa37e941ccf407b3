/** What the host activities need of a machine. The real ones are in `adapters/host`. */

import { uptime as kernelUptime } from 'node:os';
import type {
  Deployment,
  EnablementChange,
  HostFiles,
  HostSystemd,
  HostUsers,
  Journal as GenericJournal,
  OpenJournal as GenericOpenJournal,
  OsDriver,
  OsStatus,
  StepContext,
  UnitState,
} from '../../adapters/host';
import { messageOf } from '../../core/errors';
import type { UpdatePlan } from '../../core/node/plan';
import type { ConfigReference } from '../../workflows/host-contracts';

export type { Deployment, EnablementChange, OsDriver, OsStatus, StepContext, UnitState };
export type { PathChange, PathFacts, PathState } from '../../adapters/host';

/** Files below the host's root; every write survives a crash at any moment. */
export type Files = HostFiles;

export type Users = HostUsers;

export type Systemd = HostSystemd;

/** Asks the worker's main loop to reboot once the running activity is acknowledged. */
export interface Reboot {
  request(reason: string): void;
  /** Why the last reboot that was asked for did not come about; absent or undefined = it did. */
  problem?(): string | undefined;
}

export interface ConfigSource {
  fetch(name: string, signal?: AbortSignal): Promise<Buffer>;
}

/** The operating system before the update: what a way back has to arrive at. */
export interface BeforeUpdate {
  readonly bootId: string;
  readonly image?: string;
  readonly digest?: string;
  readonly kernelArguments: readonly string[];
  readonly extensions: readonly string[];
  readonly kernelType: string;
}

/** What an unfinished update is, in the journal's first entry. */
export interface UpdateHeader {
  readonly orderId: string;
  /** What the names of deployments are from. */
  readonly driver: OsDriver['name'];
  readonly target: ConfigReference;
  /** Absent = the host had no config before. */
  readonly previous?: ConfigReference;
  /** Booted when the update began. */
  readonly previousDeployment: string;
  readonly before: BeforeUpdate;
  /** How long the machine may be without Temporal until it has rebooted; absent = as this host is set up. */
  readonly reconnectSeconds?: number;
  /** The machine, as its orders name it. */
  readonly node: string;
  /** The one of Temporal that they come from; absent = the process that began it hears none. */
  readonly namespace?: string;
  /** A person said force: the disk need not have been as the config before says. */
  readonly forced?: boolean;
  /** No update but a repair of drift: whoever finds it undoes it, and drift is found again. */
  readonly repair?: true;
  readonly plan: UpdatePlan;
}

/** What came about since. */
export type UpdateMark =
  /**
   * Everything is on disk. `deployment` is the one that the next boot should start, the booted one
   * when nothing is staged; absent = a repair, which takes no boot.
   */
  | { readonly kind: 'applied'; readonly deployment?: string; readonly digest?: string }
  /**
   * Services are being reloaded and restarted: some may run on the new files. `running` are those of
   * them that ran before; absent = not known.
   */
  | { readonly kind: 'servicesBegun'; readonly running?: readonly string[] }
  /** All of them were. */
  | { readonly kind: 'services' }
  /**
   * The reboot is due; `expected` is the deployment that should come up, `reconnectSeconds` how long
   * the machine then may be without Temporal. Absent = as this host is set up. `attempt` counts from 1,
   * which is absent: power cuts take reboots back. `notAfter` = until when the order holds. `begun` =
   * what comes before the reboot is not done yet: no process carries it out by itself, as its order may have been answered as failed. Another mark without it follows.
   */
  | {
      readonly kind: 'armed';
      readonly bootId: string;
      readonly expected: string;
      readonly begun?: true;
      readonly attempt?: number;
      readonly reconnectSeconds?: number;
      readonly notAfter: string;
    }
  /**
   * It was proven to hold in this boot. `commitBy` = whoever ordered that waits for the commit, which is to follow by
   * then (RFC 3339), so the machine still goes back by itself when nobody can be reached; `commitByUptime` is the same
   * in seconds of the kernel, for as long as that boot lasts. All absent = the update was decided with this: there was an
   * answer after that time. The latest counts.
   */
  | {
      readonly kind: 'verified';
      readonly commitBy?: string;
      readonly commitByUptime?: number;
      readonly bootId?: string;
    }
  /** It holds: the new config becomes the current one. Whether anybody can be reached decides nothing any more. */
  | { readonly kind: 'committing' }
  /**
   * It does not: everything is put back; `bootId` = the boot that has to end, into the old deployment,
   * or because services started on the new files in it. One for each boot in which this was gone on with.
   * `due` = that boot ends: whatever process starts in it carries the reboot out. An order adds that in
   * another mark, when all that comes before the reboot is done; absent = nobody has asked for it yet.
   * `because` = a sentence, unless an order asked for it. `failed` = no order did, and the update is to blame for that
   * sentence, not an accident.
   * `again` = a power cut was to blame, so the update may do everything once more. `unseen` = the
   * operating system did not tell how it is, so whether a reboot is due is not known; `bootId` is then the
   * boot in which that was, where the kernel told it.
   */
  | {
      readonly kind: 'goingBack';
      readonly bootId?: string;
      readonly due?: true;
      readonly because?: string;
      readonly failed?: true;
      readonly again?: boolean;
      readonly unseen?: true;
    }
  /** All files are put back in the `/etc` of this deployment: never again, a person may mend them. */
  | { readonly kind: 'undone'; readonly deployment: string };

export type Journal = GenericJournal<UpdateHeader, UpdateMark>;
export type OpenJournal = GenericOpenJournal<UpdateHeader, UpdateMark>;

/** What a machine shows of itself beside its operating system. */
export interface Vitals {
  /** The kernel's name for this boot, as `OsStatus` has it: also when no program of the operating system answers. */
  bootId?(): Promise<string>;
  /** Words of the running kernel's command line; undefined = not to be compared on this machine. */
  commandLine(): Promise<readonly string[] | undefined>;
  /**
   * Waits until the kubelet of this machine says that it is healthy.
   *
   * @throws `VerifyFailed` with its last answer when it does not in time
   */
  kubeletHealthy(context: StepContext): Promise<void>;
}

export interface HostPorts {
  readonly node: string;
  /** The one of Temporal that orders come from; absent = this process hears none. */
  readonly namespace?: string;
  readonly files: Files;
  readonly users: Users;
  readonly journal: Journal;
  readonly systemd: Systemd;
  readonly os: OsDriver;
  readonly configs: ConfigSource;
  /** Absent = nothing but disk and operating system is looked at. */
  readonly vitals?: Vitals;
  readonly reboot: Reboot;
  /** Says what went wrong and does not keep the work from going on; absent = nobody listens. */
  readonly warn?: (sentence: string) => void;
  readonly now: () => Date;
  /** Seconds that the kernel is up, which no clock that is set changes; absent = of this machine. */
  readonly uptime?: () => number;
  /** Of the running activity: its cancellation and its heartbeat. */
  readonly context: () => StepContext;
  /** Waits; absent = real time. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Of the kernel. */
export function secondsUp({ uptime = kernelUptime }: Pick<HostPorts, 'uptime'>): number {
  return uptime();
}

/** Does what may fail without harm, and says so when it did. */
export async function atBest(
  { warn }: Pick<HostPorts, 'warn'>,
  what: string,
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    warn?.(`${what}: ${messageOf(error)}`);
  }
}

/** The boot as the kernel names it. Undefined = not to be told, which keeps nothing from being done. */
export async function kernelBootId({
  vitals,
}: Pick<HostPorts, 'vitals'>): Promise<string | undefined> {
  try {
    return await vitals?.bootId?.();
  } catch {
    return undefined;
  }
}

/** The mark of a kind, if it came about. The latest, when there are several. */
export function markOf<Kind extends UpdateMark['kind']>(
  journal: OpenJournal,
  kind: Kind,
): Extract<UpdateMark, { kind: Kind }> | undefined {
  return journal
    .marks()
    .filter((mark): mark is Extract<UpdateMark, { kind: Kind }> => mark.kind === kind)
    .at(-1);
}
