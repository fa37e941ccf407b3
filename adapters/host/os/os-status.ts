/** `id` is the driver's name for it, usually a checksum. */
export interface Deployment {
  readonly id: string;
  /** Absent: the driver does not know images. */
  readonly image?: string;
  /** Images are compared by this digest of the manifest, `sha256:…`. */
  readonly digest?: string;
  /** As on the kernel command line. */
  readonly kernelArguments: readonly string[];
  readonly extensions: readonly string[];
  /** `default`, `realtime` or `64k-pages`. */
  readonly kernelType: string;
}

/** `staged` boots next unless it is locked. */
export interface OsStatus {
  readonly bootId: string;
  readonly booted: Deployment;
  readonly staged?: Deployment & { readonly locked: boolean };
  readonly rollback?: Deployment;
  /**
   * The default of the boot loader, but not booted: the boot failed and the boot loader fell back,
   * or a person chose it. May equal `rollback`.
   */
  readonly pending?: Deployment;
}

export interface PullProgress {
  readonly bytes: number;
  readonly totalBytes?: number;
  readonly layers: number;
  readonly totalLayers?: number;
}

/** A long step reports its progress, and stops at the signal. */
export interface StepContext {
  readonly signal: AbortSignal;
  readonly progress: (text: string, pull?: PullProgress) => void;
}
