/** The paths that an update must change on this disk. */

import { isDeepStrictEqual } from 'node:util';
import { fail } from '../../core/errors';
import { originalPath } from '../../core/machine-config';
import { claimOf, withAppended } from './appended';
import { NOT_COMPARED } from '../drift/compare';
import { isRemembered, keepOriginal, restoreOriginal } from './originals';
import type { HostPorts, PathChange, PathFacts } from '../ports';
import { replacedKeys } from './ssh-keys';
import type { OwnerWish, WantedPath, WantedPaths } from './wanted-paths';

/** Other components still read these certificates (MCO's list). */
const KEPT_WHEN_STALE = [
  '/etc/kubernetes/kubelet-ca.crt',
  '/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem',
  '/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt',
  '/etc/docker/certs.d/',
] as const;

export interface PathChanges {
  readonly changes: readonly PathChange[];
  readonly files: ReadonlySet<string>;
  readonly units: ReadonlySet<string>;
}

type Ports = Pick<HostPorts, 'files' | 'users'>;

/**
 * Compares a config with the disk. Originals are kept before a path is first written, and return to
 * paths that only the old config had.
 *
 * @param old - absent: the host had no config
 * @throws `ApplyFailed` naming a path that is a directory or a device, or an owner that the host
 *   lacks
 */
export async function pathChanges(
  ports: Ports,
  old: WantedPaths | undefined,
  desired: WantedPaths,
): Promise<PathChanges> {
  const changes: PathChange[] = [];
  const touched = { file: new Set<string>(), unit: new Set<string>(), sshKeys: new Set<string>() };
  for (const [path, entry] of desired) {
    const claimed = old?.get(path);
    const wanted = await withAppended(ports.files, path, entry, claimed);
    const now = await ports.files.facts(path);
    refuseObstacle(path, now);
    // A later write of another component stays, unless the config changes the path.
    const isOfOthers = NOT_COMPARED.includes(path) && isDeepStrictEqual(claimed, entry);
    if (isOfOthers && now.kind === 'file') continue;
    if (onlyUnmasks(wanted) && (await isOurs(ports, path, claimed))) {
      changes.push(...(await unmasked(ports, path)));
      touched[wanted.part].add(wanted.name);
      continue;
    }
    if (wanted.part !== 'sshKeys' && !onlyUnmasks(wanted)) {
      changes.push(...(await keepOriginal(ports.files, path, claimOf(claimed))));
    }
    const state = await changeTo(ports, path, wanted);
    if (state === undefined) continue;
    if (wanted.part === 'sshKeys') changes.push(...(await replacedKeys(ports.files, path)));
    changes.push({ path, state });
    touched[wanted.part].add(wanted.name);
  }
  for (const [path, wanted] of old ?? []) {
    if (desired.has(path) || isKept(path)) continue;
    if (onlyUnmasks(wanted) && !(await isOurs(ports, path))) continue;
    changes.push(...(await staleChanges(ports, path, wanted)));
    touched[wanted.part].add(wanted.name);
  }
  return { changes, files: touched.file, units: touched.unit };
}

async function changeTo(
  ports: Ports,
  path: string,
  wanted: WantedPath,
): Promise<PathChange['state'] | undefined> {
  const now = await ports.files.facts(path);
  switch (wanted.kind) {
    case 'absent':
      if (now.kind === 'absent' || (wanted.onlyMask && !isMask(now))) return undefined;
      return { kind: 'absent' };
    case 'symlink':
      if (now.kind === 'symlink' && now.target === wanted.target) return undefined;
      return { kind: 'symlink', target: wanted.target };
    case 'file': {
      const there = now.kind === 'file' ? now : undefined;
      const owner =
        (wanted.keepsOwner === true ? there?.owner : undefined) ??
        (await ownerOf(ports, wanted.owner));
      const mode = (wanted.keepsMode === true ? there?.mode : undefined) ?? wanted.mode;
      const otherwise = now.kind === 'file' ? { path } : Buffer.alloc(0);
      const contentNow = () => wanted.content ?? otherwise;
      const isRight =
        now.kind === 'file' &&
        now.mode === mode &&
        now.owner.uid === owner.uid &&
        now.owner.gid === owner.gid &&
        (await ports.files.holds(path, contentNow()));
      // A file keeps its label and other attributes.
      const attributes = { keep: true } as const;
      if (isRight) return undefined;
      return {
        kind: 'file',
        // Large contents are unpacked one at a time.
        get content() {
          return contentNow();
        },
        mode,
        owner,
        attributes,
      };
    }
  }
}

/** For a unit without contents in the config. */
function onlyUnmasks(wanted: WantedPath): boolean {
  return wanted.kind === 'absent' && wanted.onlyMask;
}

/**
 * The content is of an earlier config: the previous one, or one whose file MCO left behind with the
 * record of its original.
 */
async function isOurs({ files }: Ports, path: string, claimed?: WantedPath): Promise<boolean> {
  if (claimed !== undefined && claimed.kind !== 'absent') return true;
  return isRemembered(files, path);
}

/** Restores the original, unless that is a mask. */
async function unmasked({ files }: Ports, path: string): Promise<readonly PathChange[]> {
  const wasMasked = isMask(await files.facts(originalPath(path)));
  const restored = await restoreOriginal(files, path);
  return wasMasked
    ? restored.map((change) =>
        change.path === path ? { path, state: { kind: 'absent' } } : change,
      )
    : restored;
}

async function staleChanges(
  { files }: Ports,
  path: string,
  wanted: WantedPath,
): Promise<readonly PathChange[]> {
  if (wanted.part === 'sshKeys') return [{ path, state: { kind: 'absent' } }];
  return restoreOriginal(files, path);
}

/** @throws `ApplyFailed` when something is there that is never replaced */
export function refuseObstacle(path: string, now: PathFacts): void {
  if (now.kind !== 'directory' && now.kind !== 'other') return;
  const what = now.kind === 'directory' ? 'a directory' : 'not a file';
  throw fail('ApplyFailed', `write ${path}: it is ${what} on the host`, { path });
}

function isMask(state: PathFacts): boolean {
  return state.kind === 'symlink' && state.target === '/dev/null';
}

function isKept(path: string): boolean {
  return KEPT_WHEN_STALE.some((kept) =>
    kept.endsWith('/') ? path.startsWith(kept) : path === kept,
  );
}

export async function ownerOf(
  { users }: Pick<HostPorts, 'users'>,
  wish: OwnerWish,
): Promise<{ uid: number; gid: number }> {
  const named = { user: wish.user?.name ?? '', group: wish.group?.name ?? '' };
  return {
    uid: wish.user?.id ?? (named.user === '' ? 0 : (await users.user(named.user)).uid),
    gid: wish.group?.id ?? (named.group === '' ? 0 : await users.groupId(named.group)),
  };
}
