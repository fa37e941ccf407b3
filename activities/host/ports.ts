/** What the host activities need of a machine. The real ones are in `adapters/host`. */

import type {
  Deployment,
  Enablement,
  EnablementChange,
  HostFiles,
  HostUsers,
  Journal as GenericJournal,
  OpenJournal as GenericOpenJournal,
  OsStatus,
  StepContext,
} from '../../adapters/host';
import type { UpdatePlan } from '../../core/node/plan';
import type { ConfigReference } from '../../workflows/activity-contracts';

export type { Deployment, EnablementChange, OsStatus, StepContext };
export type { PathState } from '../../adapters/host';

/** Files below the host's root; every write survives a crash at any moment. */
export type Files = HostFiles;

export type Users = HostUsers;

export interface Systemd {
  /** Paths that `setEnablement` may create or remove, for the journal. */
  enablementPaths(changes: readonly EnablementChange[]): Promise<readonly string[]>;
  setEnablement(changes: readonly EnablementChange[]): Promise<void>;
  enablement(unit: string): Promise<Enablement>;
  daemonReload(): Promise<void>;
  reload(service: string): Promise<void>;
  restart(service: string): Promise<void>;
}

/**
 * The operating system. Changes are made to a staged deployment, locked until `finalize`: nothing of
 * them is in force before the reboot. Every call may be repeated.
 */
export interface OsDriver {
  readonly name: string;
  /** False = files and units only; image, arguments, extensions are somebody else's. */
  readonly managesOs: boolean;
  status(): Promise<OsStatus>;
  /** Pulls an image and stages it, locked. */
  stage(image: string, context: StepContext): Promise<void>;
  /** MachineConfig entries: the old ones go, the new ones are appended. */
  setKernelArguments(change: {
    readonly from: readonly string[];
    readonly to: readonly string[];
  }): Promise<void>;
  setExtensions(extensions: readonly string[]): Promise<void>;
  setKernelType(kernelType: string): Promise<void>;
  /** Lets the staged deployment take over at the next boot. */
  finalize(): Promise<void>;
  /** Drops the staged deployment. */
  discard(): Promise<void>;
  /** Makes the next boot start the deployment before the booted one. */
  rollback(): Promise<void>;
}

/** Asks the worker's main loop to reboot once the running activity is acknowledged. */
export interface Reboot {
  request(reason: string): void;
}

export interface ConfigSource {
  fetch(name: string, signal?: AbortSignal): Promise<Buffer>;
}

/** What an unfinished update is, in the journal's first entry. */
export interface UpdateHeader {
  readonly orderId: string;
  readonly target: ConfigReference;
  /** Absent = the host had no config before. */
  readonly previous?: ConfigReference;
  /** Booted when the update began. */
  readonly previousDeployment: string;
  readonly plan: UpdatePlan;
}

/** What came about since. */
export type UpdateMark =
  /** Everything is on disk. */
  | { readonly kind: 'applied' }
  /** Services are being reloaded and restarted: some may run on the new files. */
  | { readonly kind: 'servicesBegun' }
  /** All of them were. */
  | { readonly kind: 'services' }
  /**
   * The reboot is due; `expected` is the deployment that should come up, `reconnectSeconds` how long
   * the machine then may be without Temporal. Absent = as this host is set up.
   */
  | {
      readonly kind: 'armed';
      readonly bootId: string;
      readonly expected: string;
      readonly reconnectSeconds?: number;
    }
  /** In this boot the update did not cut the host off. */
  | { readonly kind: 'reached'; readonly bootId: string }
  /** It holds: the new config becomes the current one. */
  | { readonly kind: 'committing' }
  /** It does not: everything is put back; `bootId` = a reboot into the old deployment is due. */
  | { readonly kind: 'goingBack'; readonly bootId?: string };

export type Journal = GenericJournal<UpdateHeader, UpdateMark>;
export type OpenJournal = GenericOpenJournal<UpdateHeader, UpdateMark>;

export interface HostPorts {
  readonly node: string;
  readonly files: Files;
  readonly users: Users;
  readonly journal: Journal;
  readonly systemd: Systemd;
  readonly os: OsDriver;
  readonly configs: ConfigSource;
  readonly reboot: Reboot;
  readonly now: () => Date;
  /** Of the running activity: its cancellation and its heartbeat. */
  readonly context: () => StepContext;
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
