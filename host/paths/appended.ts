/** Files that a config appends to: only the host has the content before them. */

import type { RenderedSpec } from '../../core/machine-config/types';
import { type Claim, originalOf } from './originals';
import type { Files } from '../ports';
import { presentKeysFileOf, sshKeysFileOf } from './ssh-keys';
import { type WantedPath, type WantedPaths, wantedPaths } from './wanted-paths';

/** Undefined = the config does not have the path. */
export function claimOf(current: WantedPath | undefined): Claim {
  const appended = current?.kind === 'file' ? current.appended?.bytes : undefined;
  // A config that only removes a mask does not own the content.
  const wasOurs = current !== undefined && !(current.kind === 'absent' && current.onlyMask);
  return { wasOurs, ...(appended === undefined ? {} : { appended }) };
}

/**
 * The path with its original and the appended bytes. Mode and owner stay unless the config names
 * them. Idempotent.
 *
 * @param current - the path in the config that the host is on
 * @throws `ApplyFailed` when there is a link or no file to append to
 */
export async function withAppended(
  files: Files,
  path: string,
  wanted: WantedPath,
  current: WantedPath | undefined,
): Promise<WantedPath> {
  if (wanted.kind !== 'file' || wanted.appended === undefined) return wanted;
  const { bytes, keepsMode, keepsOwner } = wanted.appended;
  const before = await originalOf(files, path, claimOf(current));
  const { uid, gid } = before?.owner ?? { uid: 0, gid: 0 };
  return {
    ...wanted,
    content: Buffer.concat([before?.content ?? Buffer.alloc(0), bytes]),
    mode: keepsMode ? (before?.mode ?? wanted.mode) : wanted.mode,
    owner: keepsOwner ? { user: { id: uid }, group: { id: gid } } : wanted.owner,
  };
}

/** One after the other, with whole contents to compare with the disk. */
export async function* wantedOnHost(
  files: Files,
  spec: Pick<RenderedSpec, 'config'>,
): AsyncGenerator<readonly [string, WantedPath]> {
  for (const [path, state] of await heldPaths(files, spec)) {
    yield [path, await withAppended(files, path, state, state)];
  }
}

/** `wantedPaths`, with the place of this host's SSH keys. */
export async function hostPaths(
  files: Pick<Files, 'look'>,
  spec: Pick<RenderedSpec, 'config'>,
): Promise<WantedPaths> {
  return wantedPaths(spec, await sshKeysFileOf(files));
}

/** Of the config that the host is on, without entries that no host can apply. */
export async function heldPaths(
  files: Pick<Files, 'look'>,
  spec: Pick<RenderedSpec, 'config'>,
): Promise<WantedPaths> {
  return wantedPaths(spec, await presentKeysFileOf(files), 'leftOut');
}
