import type { OsStatus, StepContext } from './os-status';

export type OsDriverName = 'rpm-ostree' | 'bootc' | 'ostree' | 'none' | 'simulated';

type OsFeature = 'image' | 'kernelArguments' | 'extensions' | 'kernelType' | 'lock';

export interface ListChange {
  readonly from: readonly string[];
  readonly to: readonly string[];
}

interface ExtensionsChange extends ListChange {
  /** Absent: the host has its own repositories. */
  readonly image?: string;
}

export interface BootNeeds {
  /** A kernel besides its entry. */
  readonly kernel: boolean;
}

/**
 * The operating system. Changes go to a staged deployment, which is locked until `finalize`: none
 * is in force before the reboot. Every call can be repeated.
 */
export interface OsDriver {
  readonly name: OsDriverName;
  /** False = Slipway changes files and units only. */
  readonly managesOs: boolean;
  /** With a sentence for people. */
  readonly lacks: Readonly<Partial<Record<OsFeature, string>>>;
  status(): Promise<OsStatus>;
  /**
   * Before its pull: digest, reachability, signature policy, architecture, free space.
   *
   * @throws `ImageRefused` naming the image, the reason and the fix
   */
  checkImage(image: string, context: StepContext): Promise<void>;
  /**
   * A deployment must fit into the boot directory when it is finalized. Absent: this driver writes
   * nothing there.
   *
   * @throws `ApplyFailed` naming the directory
   */
  readonly checkBoot?: (needs: BootNeeds, context: StepContext) => Promise<void>;
  /**
   * Stages locked; does nothing if the image is staged.
   *
   * @param extensionsImage - has the layered packages, to layer them again
   */
  stage(image: string, context: StepContext, extensionsImage?: string): Promise<void>;
  /** Every old entry is removed, every new one is appended. */
  setKernelArguments(change: ListChange, context: StepContext): Promise<void>;
  setExtensions(change: ExtensionsChange, context: StepContext): Promise<void>;
  /**
   * `default`, `realtime` or `64k-pages`.
   *
   * @param extensionsImage - has the packages of the other kernels
   */
  setKernelType(kernelType: string, context: StepContext, extensionsImage?: string): Promise<void>;
  /** Unlocks the staged deployment for the next boot. */
  finalize(): Promise<void>;
  discard(): Promise<void>;
  /** By ID, as in `status`. */
  rollback(deployment: string): Promise<void>;
  /** With what only it needs; does nothing if it is gone. Not the booted one. */
  cleanUp(deployment: string): Promise<void>;
}
