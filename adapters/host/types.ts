/** Types that the host adapters share: paths, deployments, unit states. */

import type { Attributes } from './attributes';

/** Numeric owner of a path. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export const ROOT_OWNER: Owner = { uid: 0, gid: 0 };

/** A regular file; `mode` has the permission bits only. */
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

/** What is at a path, without its content; `size` in bytes. */
export type PathFacts =
  Exclude<PathState, FileState> | (Omit<FileState, 'content'> & { readonly size: number });

/**
 * A file of the host, or a part of one, that is copied in pieces. With `sha256` (hex), a copy of
 * other bytes is refused.
 */
export interface FilePart {
  readonly path: string;
  readonly offset?: number;
  /** Absent: to the end. */
  readonly size?: number;
  readonly sha256?: string;
}

/** `keep` = the present ones, except those of the old content; `of` = those of a path. */
export type AttributesWish =
  { readonly keep: true } | { readonly of: string } | { readonly exactly: Attributes };

/** What a path should become. */
export type WantedState =
  | {
      readonly kind: 'file';
      readonly content: Buffer | FilePart;
      readonly mode: number;
      readonly owner: Owner;
      /** Absent: those of a new file. */
      readonly attributes?: AttributesWish;
    }
  | { readonly kind: 'symlink'; readonly target: string; readonly attributes?: AttributesWish }
  /** A file or a link is removed; a directory is refused. */
  | { readonly kind: 'absent' }
  /** Made unless something exists there. */
  | ({ readonly kind: 'directory' } & WantedDirectory);

export interface WantedDirectory {
  readonly mode: number;
  readonly owner: Owner;
  /** Absent: those of a new directory. */
  readonly attributes?: { readonly exactly: Attributes };
}

export interface PathChange {
  readonly path: string;
  readonly state: WantedState;
}

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
  /** The deployment before the booted one. */
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

/** How a unit should be enabled; `preset` = as the distribution's preset files say. */
export interface EnablementChange {
  readonly unit: string;
  readonly wish: 'enable' | 'disable' | 'preset';
}

/**
 * As `systemctl is-enabled`; `static` = no [Install] section, `indirect` = a disabled template with
 * an enabled instance.
 */
export type Enablement = 'enabled' | 'indirect' | 'disabled' | 'static' | 'masked' | 'absent';
