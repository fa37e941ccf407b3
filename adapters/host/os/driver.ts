import type { OsStatus, StepContext } from './os-status';

export type OsDriverName = 'rpm-ostree' | 'bootc' | 'ostree' | 'none' | 'simulated';

type OsFeature = 'image' | 'kernelArguments' | 'extensions' | 'kernelType' | 'lock';

export interface ListChange {
  readonly from: readonly string[];
  readonly to: readonly string[];
}

interface ExtensionsChange extends ListChange {
  /** Image with the packages; absent: the host has its own repositories. */
  readonly image?: string;
}

/** The files of a staged deployment in the boot directory. */
export interface BootNeeds {
  /** A kernel, perhaps, besides its entry. */
  readonly kernel: boolean;
}

/**
 * The operating system. Changes go to a staged deployment, which is locked until `finalize`: none
 * is in force before the reboot. Every call can be repeated. Programs are asked for JSON; their
 * text for people is quoted in errors and never parsed.
 */
export interface OsDriver {
  readonly name: OsDriverName;
  /** False = Slipway changes files and units only; not image, arguments and extensions. */
  readonly managesOs: boolean;
  /** Features that this driver lacks here, each with a sentence for people. */
  readonly lacks: Readonly<Partial<Record<OsFeature, string>>>;
  status(): Promise<OsStatus>;
  /**
   * Checks an image before its pull: digest, reachability, signature policy, architecture, free
   * space.
   *
   * @throws `ImageRefused` naming the image, the reason and the fix
   */
  checkImage(image: string, context: StepContext): Promise<void>;
  /**
   * Checks that a deployment will fit into the boot directory when it is finalized. Absent: this
   * driver writes nothing there.
   *
   * @throws `ApplyFailed` naming the directory
   */
  readonly checkBoot?: (needs: BootNeeds, context: StepContext) => Promise<void>;
  /**
   * Pulls an image and stages it, locked; does nothing if it is staged.
   *
   * @param extensionsImage - has the layered packages, to layer them again
   */
  stage(image: string, context: StepContext, extensionsImage?: string): Promise<void>;
  /** MachineConfig entries: every old one is removed, every new one is appended. */
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
  /** Makes the next boot start the deployment with this ID, as `status` names it. */
  rollback(deployment: string): Promise<void>;
  /** Drops a deployment that is not booted, and what only it needs, if it exists. */
  cleanUp(deployment: string): Promise<void>;
}
