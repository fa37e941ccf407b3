/** The ports of the host activities. */

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
import type { ConfigReference } from '../workflows/contracts/host';

export type { Deployment, EnablementChange, OsStatus, StepContext, UnitState };
export type { PathChange, PathFacts, PathState } from '../adapters/host';

/** Every write survives a crash. */
export type Files = HostFiles;

type Users = HostUsers;

type Systemd = HostSystemd;

/** The reboot follows when the running activity is acknowledged. */
interface Reboot {
  request(reason: string): void;
  /** Why the last requested reboot did not happen. */
  problem?(): string | undefined;
}

interface ConfigSource {
  fetch(name: string, signal?: AbortSignal): Promise<Buffer>;
}

/** A rollback returns to this state. */
export interface BeforeUpdate {
  readonly bootId: string;
  readonly image?: string;
  readonly digest?: string;
  readonly kernelArguments: readonly string[];
  readonly extensions: readonly string[];
  readonly kernelType: string;
}

/** The journal's first entry. */
export interface UpdateHeader {
  readonly orderId: string;
  /** This driver names the deployments. */
  readonly driver: OsDriver['name'];
  readonly target: ConfigReference;
  /** Absent: the host had no config before. */
  readonly previous?: ConfigReference;
  /** Booted when the update began. */
  readonly previousDeployment: string;
  readonly before: BeforeUpdate;
  /** How long the machine may be without Temporal; absent: a first boot, or a repair. */
  readonly reconnectSeconds?: number;
  /** The name of the machine in its orders. */
  readonly node: string;
  /** Of its orders; absent: it has none. */
  readonly namespace?: string;
  /** At a person's request: the disk need not match the previous config. */
  readonly forced?: boolean;
  /** A repair of drift: an unfinished one is undone, and the drift is found again. */
  readonly repair?: true;
  readonly plan: UpdatePlan;
}

export type UpdateMark =
  /**
   * Everything is on disk. `deployment` should boot next, the booted one when nothing is staged;
   * absent = a repair, which takes no boot.
   */
  | { readonly kind: 'applied'; readonly deployment?: string; readonly digest?: string }
  /** Services may run on the new files. `running` = those that ran before; absent: not known. */
  | { readonly kind: 'servicesBegun'; readonly running?: readonly string[] }
  | { readonly kind: 'services' }
  /** The reboot is due. */
  | {
      readonly kind: 'armed';
      readonly bootId: string;
      readonly expected: string;
      /** Preparations of the reboot are incomplete: an order marks again without it. */
      readonly begun?: true;
      /** From 1, which is absent: a power cut may undo the reboot. */
      readonly attempt?: number;
      /** How long the machine may then be without Temporal; absent: a first boot. */
      readonly reconnectSeconds?: number;
      readonly notAfter: string;
    }
  /** In this boot. The latest counts; without a time for the commit, the update is decided. */
  | {
      readonly kind: 'verified';
      /** RFC 3339. Until an answer after this time, a machine that reaches nobody rolls back. */
      readonly commitBy?: string;
      /** In seconds of kernel uptime, valid in that boot. */
      readonly commitByUptime?: number;
      readonly bootId?: string;
    }
  /** The new config becomes the current one, even if nobody is in reach. */
  | { readonly kind: 'committing' }
  /** One mark for each boot in which the rollback continues. */
  | {
      readonly kind: 'goingBack';
      /**
       * The boot that must end, to boot the old deployment or to end processes with the new files.
       */
      readonly bootId?: string;
      /** Any process that starts in that boot requests the reboot. */
      readonly due?: true;
      /** A sentence; absent: an order requested the rollback. */
      readonly because?: string;
      /** The update is the cause, without an order. */
      readonly failed?: true;
      /** A power cut is the cause, so the update may be repeated. */
      readonly again?: boolean;
      /** Boot `bootId` gave no OS status: it is not known whether a reboot is due. */
      readonly unseen?: true;
    }
  /**
   * In the `/etc` of this deployment. Never repeated, because a person may change the files later.
   */
  | { readonly kind: 'undone'; readonly deployment: string };

export type Journal = GenericJournal<UpdateHeader, UpdateMark>;
export type OpenJournal = GenericOpenJournal<UpdateHeader, UpdateMark>;

interface Vitals {
  /** From the kernel, without an OS program. */
  bootId?(): Promise<string>;
  /** Of the running kernel; undefined = not compared on this machine. */
  commandLine(): Promise<readonly string[] | undefined>;
  /**
   * Until the kubelet of this machine is healthy.
   *
   * @throws `VerifyFailed` with its last answer after the time limit
   */
  kubeletHealthy(context: StepContext): Promise<void>;
}

export interface HostPorts {
  readonly node: string;
  /** Absent: this process receives no orders. */
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
  /** A problem that does not stop the work. */
  readonly warn?: (sentence: string) => void;
  readonly now: () => Date;
  /** Of the kernel, in seconds, independent of the clock. */
  readonly uptime?: () => number;
  /** Cancellation and heartbeat of the running activity. */
  readonly context: () => StepContext;
  /** Default: real time. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** These last as long as the process; the rest belongs to the running activity. */
export type LastingPorts = Omit<HostPorts, 'reboot' | 'context' | 'now'>;

export type MachinePorts = Omit<LastingPorts, 'configs'>;

export function secondsUp({ uptime = kernelUptime }: Pick<HostPorts, 'uptime'>): number {
  return uptime();
}

/** Warns of a failure that does no harm. */
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

/** Undefined = unreadable, which must not stop the work. */
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
