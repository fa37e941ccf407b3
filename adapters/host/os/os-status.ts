/** What a driver sees of the operating system, and says while it works. */

/** An OS tree on disk. `id` is the driver's own name for it (a checksum, usually). */
export interface Deployment {
  readonly id: string;
  /** Pull spec as a MachineConfig names it. Absent = the driver does not know images. */
  readonly image?: string;
  /** Digest of the image's manifest, `sha256:…`; what images are compared by. */
  readonly digest?: string;
  /** Single arguments, as on the kernel command line. */
  readonly kernelArguments: readonly string[];
  /** Extension names as in a MachineConfig. */
  readonly extensions: readonly string[];
  /** `default`, `realtime` or `64k-pages`. */
  readonly kernelType: string;
}

/** What a driver sees. `staged` takes over at the next boot unless it is locked. */
export interface OsStatus {
  /** Changes with every boot. */
  readonly bootId: string;
  readonly booted: Deployment;
  readonly staged?: Deployment & { readonly locked: boolean };
  /** The deployment before the booted one. */
  readonly rollback?: Deployment;
  /**
   * In place and the default of the boot loader, but not what booted: it did not come up and the boot
   * loader fell back, or somebody chose it for the next boot. May be the same as `rollback`.
   */
  readonly pending?: Deployment;
}

/** How far the pull of an image is. */
export interface PullProgress {
  readonly bytes: number;
  /** Absent = not known yet. */
  readonly totalBytes?: number;
  readonly layers: number;
  readonly totalLayers?: number;
}

/** A long step reports what it does and stops when the signal fires. */
export interface StepContext {
  readonly signal: AbortSignal;
  readonly progress: (text: string, pull?: PullProgress) => void;
}
