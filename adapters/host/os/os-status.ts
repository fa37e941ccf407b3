/** The state of the operating system, and the progress of a driver. */

/** An OS tree on disk. `id` is the driver's name for it, usually a checksum. */
export interface Deployment {
  readonly id: string;
  /** Pull spec as in a MachineConfig. Absent: the driver does not know images. */
  readonly image?: string;
  /** Digest of the image's manifest, `sha256:…`; images are compared by it. */
  readonly digest?: string;
  /** Single arguments, as on the kernel command line. */
  readonly kernelArguments: readonly string[];
  readonly extensions: readonly string[];
  /** `default`, `realtime` or `64k-pages`. */
  readonly kernelType: string;
}

/** `staged` takes over at the next boot unless it is locked. */
export interface OsStatus {
  /** Changes with every boot. */
  readonly bootId: string;
  readonly booted: Deployment;
  readonly staged?: Deployment & { readonly locked: boolean };
  readonly rollback?: Deployment;
  /**
   * The default of the boot loader, but not booted: the boot failed and the boot loader fell back,
   * or a person chose it for the next boot. May equal `rollback`.
   */
  readonly pending?: Deployment;
}

export interface PullProgress {
  readonly bytes: number;
  /** Absent: not known yet. */
  readonly totalBytes?: number;
  readonly layers: number;
  readonly totalLayers?: number;
}

/** A long step reports its progress, and stops at the signal. */
export interface StepContext {
  readonly signal: AbortSignal;
  readonly progress: (text: string, pull?: PullProgress) => void;
}
