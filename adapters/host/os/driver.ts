/** The port of the operating system: what a driver does, whichever program it drives. */

import type { OsStatus, StepContext } from './os-status';

export const OS_DRIVER_NAMES = ['rpm-ostree', 'bootc', 'ostree', 'none', 'simulated'] as const;
export type OsDriverName = (typeof OS_DRIVER_NAMES)[number];

/** What some drivers cannot do. */
export type OsFeature = 'image' | 'kernelArguments' | 'extensions' | 'kernelType' | 'lock';

/** Entries of a MachineConfig, before and after. */
export interface ListChange {
  readonly from: readonly string[];
  readonly to: readonly string[];
}

export interface ExtensionsChange extends ListChange {
  /** Image that has the packages; absent = the host has its own repositories. */
  readonly image?: string;
}

/** What a staged deployment brings along to the boot directory. */
export interface BootNeeds {
  /** Perhaps a kernel of its own, besides its entry. */
  readonly kernel: boolean;
}

/**
 * The operating system. Changes are made to a staged deployment, locked until `finalize`: nothing of
 * them is in force before the reboot. Every call may be repeated. Programs are asked for JSON; what
 * they print for people is quoted in errors and never parsed.
 */
export interface OsDriver {
  readonly name: OsDriverName;
  /** False = files and units only; image, arguments, extensions are somebody else's. */
  readonly managesOs: boolean;
  /** What this driver cannot do here, with the sentence that a person reads. */
  readonly lacks: Readonly<Partial<Record<OsFeature, string>>>;
  status(): Promise<OsStatus>;
  /**
   * Checks what can be known before a byte of an image is pulled: digest, reachability, signature
   * policy, architecture, free space.
   *
   * @throws `ImageRefused` naming the image, the reason and the fix
   */
  checkImage(image: string, context: StepContext): Promise<void>;
  /**
   * Checks that a deployment can get into the boot directory when it is finalized.
   *
   * Absent = this driver writes nothing there.
   *
   * @throws `ApplyFailed` naming the directory
   */
  readonly checkBoot?: (needs: BootNeeds, context: StepContext) => Promise<void>;
  /**
   * Pulls an image and stages it, locked. Staging what is staged does nothing.
   *
   * @param extensionsImage - has the packages that are layered already, to layer them again
   */
  stage(image: string, context: StepContext, extensionsImage?: string): Promise<void>;
  /** MachineConfig entries: every old one goes, every new one is appended. */
  setKernelArguments(change: ListChange, context: StepContext): Promise<void>;
  setExtensions(change: ExtensionsChange, context: StepContext): Promise<void>;
  /**
   * `default`, `realtime` or `64k-pages`.
   *
   * @param extensionsImage - has the packages of the other kernels
   */
  setKernelType(kernelType: string, context: StepContext, extensionsImage?: string): Promise<void>;
  /** Lets the staged deployment take over at the next boot. */
  finalize(): Promise<void>;
  /** Drops the staged deployment. */
  discard(): Promise<void>;
  /** Makes the next boot start the deployment with this ID, as `status` names it. */
  rollback(deployment: string): Promise<void>;
  /** Drops a deployment that is not booted, with what only it needs; none there is fine. */
  cleanUp(deployment: string): Promise<void>;
}
