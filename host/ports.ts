/** The ports of the host activities. `adapters/host` has the real ones. */

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
} from '../adapters/host';
import { messageOf } from '../core/errors';
import type { UpdatePlan } from '../core/node/plan';
import type { ConfigReference } from '../workflows/host-contracts';

export type { Deployment, EnablementChange, OsStatus, StepContext, UnitState };
export type { PathChange, PathFacts, PathState } from '../adapters/host';

/** Files below the host's root; every write survives a crash. */
export type Files = HostFiles;

type Users = HostUsers;

type Systemd = HostSystemd;

/** Requests a reboot, which follows when the running activity is acknowledged. */
interface Reboot {
  request(reason: string): void;
  /** Why the last requested reboot did not happen, if it did not. */
  problem?(): string | undefined;
}

interface ConfigSource {
  fetch(name: string, signal?: AbortSignal): Promise<Buffer>;
}

/** The operating system before the update, to which a rollback returns. */
export interface BeforeUpdate {
  readonly bootId: string;
  readonly image?: string;
  readonly digest?: string;
  readonly kernelArguments: readonly string[];
  readonly extensions: readonly string[];
  readonly kernelType: string;
}

/** An unfinished update, in the journal's first entry. */
export interface UpdateHeader {
  readonly orderId: string;
  /** The driver that names the deployments. */
  readonly driver: OsDriver['name'];
  readonly target: ConfigReference;
  /** Absent: the host had no config before. */
  readonly previous?: ConfigReference;
  /** Booted when the update began. */
  readonly previousDeployment: string;
  readonly before: BeforeUpdate;
  /**
   * How long the machine may be without Temporal until it has rebooted; absent: the host's setting.
   */
  readonly reconnectSeconds?: number;
  /** The name of the machine in its orders. */
  readonly node: string;
  /** The Temporal namespace of its orders; absent: it has none. */
  readonly namespace?: string;
  /** A person requested force: the disk need not match the previous config. */
  readonly forced?: boolean;
  /**
   * A repair of drift, not an update: an unfinished one is undone, and the drift is found again.
   */
  readonly repair?: true;
  readonly plan: UpdatePlan;
}

/** Steps of the update. */
export type UpdateMark =
  /**
   * Everything is on disk. `deployment` is the one that the next boot should start, the booted one
   * when nothing is staged; absent = a repair, which takes no boot.
   */
  | { readonly kind: 'applied'; readonly deployment?: string; readonly digest?: string }
  /**
   * Reloads and restarts have begun: services may run on the new files. `running` = those that ran
   * before; absent: not known.
   */
  | { readonly kind: 'servicesBegun'; readonly running?: readonly string[] }
  | { readonly kind: 'services' }
  /** The reboot is due. */
  | {
      readonly kind: 'armed';
      readonly bootId: string;
      readonly expected: string;
      /** Preparations of the reboot are not complete: only an order continues, and marks again without it. */
      readonly begun?: true;
      /** Counts from 1, which is absent: a power cut may undo the reboot. */
      readonly attempt?: number;
      /** How long the machine then may be without Temporal; absent: the host's setting. */
      readonly reconnectSeconds?: number;
      readonly notAfter: string;
    }
  /** Verified in this boot. The latest counts; without a time for the commit, the update is decided. */
  | {
      readonly kind: 'verified';
      /** RFC 3339. Until an answer after this time, a machine that reaches nobody rolls back. */
      readonly commitBy?: string;
      /** The same in seconds of kernel uptime, valid in that boot. */
      readonly commitByUptime?: number;
      readonly bootId?: string;
    }
  /** The new config becomes the current one, whether or not anybody is in reach. */
  | { readonly kind: 'committing' }
  /** The rollback has begun; one mark for each boot in which it continues. */
  | {
      readonly kind: 'goingBack';
      /** The boot that must end, to boot the old deployment or to end processes with the new files. */
      readonly bootId?: string;
      /** The reboot is requested: any process that starts in that boot carries it out. */
      readonly due?: true;
      /** A sentence; absent: an order requested the rollback. */
      readonly because?: string;
      /** No order requested it, and the update is the cause. */
      readonly failed?: true;
      /** A power cut is the cause, so the update may be repeated. */
      readonly again?: boolean;
      /** The OS status was not available in boot `bootId`, so it is not known whether a reboot is due. */
      readonly unseen?: true;
    }
  /**
   * All files are undone in the `/etc` of this deployment. Never repeated, because a person may
   * change them later.
   */
  | { readonly kind: 'undone'; readonly deployment: string };

export type Journal = GenericJournal<UpdateHeader, UpdateMark>;
export type OpenJournal = GenericOpenJournal<UpdateHeader, UpdateMark>;

/** Signs of a running machine beside its operating system. */
interface Vitals {
  /** The kernel's ID of this boot, which needs no OS program. */
  bootId?(): Promise<string>;
  /** Words of the running kernel's command line; undefined = not compared on this machine. */
  commandLine(): Promise<readonly string[] | undefined>;
  /**
   * Waits until the kubelet of this machine reports that it is healthy.
   *
   * @throws `VerifyFailed` with its last answer after the time limit
   */
  kubeletHealthy(context: StepContext): Promise<void>;
}

export interface HostPorts {
  readonly node: string;
  /** The Temporal namespace of the orders; absent: this process receives none. */
  readonly namespace?: string;
  readonly files: Files;
  readonly users: Users;
  readonly journal: Journal;
  readonly systemd: Systemd;
  readonly os: OsDriver;
  readonly configs: ConfigSource;
  /** Absent: only disk and operating system are checked. */
  readonly vitals?: Vitals;
  readonly reboot: Reboot;
  /** Reports a problem that does not stop the work. */
  readonly warn?: (sentence: string) => void;
  readonly now: () => Date;
  /** Seconds of kernel uptime, independent of the clock; default: of this machine. */
  readonly uptime?: () => number;
  /** Of the running activity: its cancellation and its heartbeat. */
  readonly context: () => StepContext;
  /** Default: real time. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The ports that last as long as the process; the others belong to the running activity. */
export type LastingPorts = Omit<HostPorts, 'reboot' | 'context' | 'now'>;

/** The ports that need no server. */
export type MachinePorts = Omit<LastingPorts, 'configs'>;

export function secondsUp({ uptime = kernelUptime }: Pick<HostPorts, 'uptime'>): number {
  return uptime();
}

/** Tries something that may fail without harm, and warns if it fails. */
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

/** The kernel's ID of this boot; undefined = unreadable, which must not stop the work. */
export async function kernelBootId({
  vitals,
}: Pick<HostPorts, 'vitals'>): Promise<string | undefined> {
  try {
    return await vitals?.bootId?.();
  } catch {
    return undefined;
  }
}

export function markOf<Kind extends UpdateMark['kind']>(
  journal: OpenJournal,
  kind: Kind,
): Extract<UpdateMark, { kind: Kind }> | undefined {
  return journal
    .marks()
    .filter((mark): mark is Extract<UpdateMark, { kind: Kind }> => mark.kind === kind)
    .at(-1);
}
