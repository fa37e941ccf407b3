/** What is at a path, and what it should become. */

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
