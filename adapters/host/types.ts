/** The words that the host adapters share: what is at a path, deployments, unit states. */

import type { Attributes } from './attributes';

/** Numeric owner of a path. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Who owns what is the system's own. */
export const ROOT_OWNER: Owner = { uid: 0, gid: 0 };

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

/** What is at a path, without its content; `size` in bytes. */
export type PathFacts =
  Exclude<PathState, FileState> | (Omit<FileState, 'content'> & { readonly size: number });

/**
 * A file of the host, or a stretch of one, that is copied in pieces instead of being held in memory.
 * With `sha256` (hex) the copy is refused when it is not these bytes.
 */
export interface FilePart {
  readonly path: string;
  readonly offset?: number;
  /** Absent = to the end. */
  readonly size?: number;
  readonly sha256?: string;
}

/** `keep` = those that are there, but for what belongs to the old content; `of` = those of a path. */
export type AttributesWish =
  { readonly keep: true } | { readonly of: string } | { readonly exactly: Attributes };

/** What a path should become. */
export type WantedState =
  | {
      readonly kind: 'file';
      readonly content: Buffer | FilePart;
      readonly mode: number;
      readonly owner: Owner;
      /** Absent = what a new file gets. */
      readonly attributes?: AttributesWish;
    }
  | { readonly kind: 'symlink'; readonly target: string; readonly attributes?: AttributesWish }
  /** A file or a link goes; a directory is refused. */
  | { readonly kind: 'absent' }
  /** Made unless something is there already. */
  | ({ readonly kind: 'directory' } & WantedDirectory);

/** What a directory is made as. */
export interface WantedDirectory {
  readonly mode: number;
  readonly owner: Owner;
  /** Absent = what a new directory gets. */
  readonly attributes?: { readonly exactly: Attributes };
}

/** One path and what it should become. */
export interface PathChange {
  readonly path: string;
  readonly state: WantedState;
}

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

/** How one unit should be enabled; `preset` = as the distribution's preset files say. */
export interface EnablementChange {
  readonly unit: string;
  readonly wish: 'enable' | 'disable' | 'preset';
}

/**
 * As `systemctl is-enabled` answers, as far as it matters; `static` = has no [Install] section, `indirect` =
 * a template that is not enabled itself, and an instance of it is.
 */
export type Enablement = 'enabled' | 'indirect' | 'disabled' | 'static' | 'masked' | 'absent';
