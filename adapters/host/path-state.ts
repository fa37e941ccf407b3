import type { Attributes } from './attributes';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export const ROOT_OWNER: Owner = { uid: 0, gid: 0 };

/** `mode` has the permission bits only. */
export interface FileState {
  readonly kind: 'file';
  readonly content: Buffer;
  readonly mode: number;
  readonly owner: Owner;
}

/** A link at the last component is never followed. */
export type PathState =
  | FileState
  | { readonly kind: 'absent' }
  | { readonly kind: 'symlink'; readonly target: string }
  | { readonly kind: 'directory'; readonly mode: number; readonly owner: Owner }
  | { readonly kind: 'other' };

/** `size` in bytes. */
export type PathFacts =
  Exclude<PathState, FileState> | (Omit<FileState, 'content'> & { readonly size: number });

/** Copied in pieces. With `sha256` (hex), a copy of other bytes is refused. */
export interface FilePart {
  readonly path: string;
  readonly offset?: number;
  readonly size?: number;
  readonly sha256?: string;
}

/** `keep` = the present ones, except those of the old content; `of` = those of a path. */
export type AttributesWish =
  { readonly keep: true } | { readonly of: string } | { readonly exactly: Attributes };

export type WantedState =
  | {
      readonly kind: 'file';
      readonly content: Buffer | FilePart;
      readonly mode: number;
      readonly owner: Owner;
      readonly attributes?: AttributesWish;
    }
  | { readonly kind: 'symlink'; readonly target: string; readonly attributes?: AttributesWish }
  /** A directory is refused. */
  | { readonly kind: 'absent' }
  /** Made unless something exists there. */
  | ({ readonly kind: 'directory' } & WantedDirectory);

export interface WantedDirectory {
  readonly mode: number;
  readonly owner: Owner;
  readonly attributes?: { readonly exactly: Attributes };
}

export interface PathChange {
  readonly path: string;
  readonly state: WantedState;
}
