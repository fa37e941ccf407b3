/** The words that the host adapters share: what is at a path, deployments, unit states. */

/** Numeric owner of a path. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** A regular file as it is or as it should be; `mode` has the permission bits only. */
export interface FileState {
  readonly kind: 'file';
  readonly content: Buffer;
  readonly mode: number;
  readonly owner: Owner;
}

/** What is at a path. Links are never followed at the last component. */
export type PathState =
  | FileState
  | { readonly kind: 'absent' }
  | { readonly kind: 'symlink'; readonly target: string }
  | { readonly kind: 'directory'; readonly mode: number; readonly owner: Owner }
  | { readonly kind: 'other' };

/** An OS tree on disk. `id` is the driver's own name for it (a checksum, usually). */
export interface Deployment {
  readonly id: string;
  /** Absent = the driver does not know images. */
  readonly image?: string;
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
}

/** A long step reports what it does and stops when the signal fires. */
export interface StepContext {
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
}

/** How one unit should be enabled; `preset` = as the distribution's preset files say. */
export interface EnablementChange {
  readonly unit: string;
  readonly wish: 'enable' | 'disable' | 'preset';
}

/** As `systemctl is-enabled` answers, as far as it matters; `static` = has no [Install] section. */
export type Enablement = 'enabled' | 'disabled' | 'static' | 'masked' | 'absent';
