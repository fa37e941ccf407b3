/** Which paths an update changes, seen from the disk: what is right already is not written again. */

import { fail } from '../../core/errors';
import { keepOriginal, type PathChange, restoreOriginal } from './originals';
import type { HostPorts, PathState } from './ports';
import type { OwnerWish, WantedPath, WantedPaths } from './wanted-paths';

/** Never removed: certificates that other components still read (MCO's list). */
const KEPT_WHEN_STALE = [
  '/etc/kubernetes/kubelet-ca.crt',
  '/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem',
  '/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt',
  '/etc/docker/certs.d/',
] as const;

/** The changes, in the order in which they are made, and what they amount to. */
export interface PathChanges {
  readonly changes: readonly PathChange[];
  /** Paths of the config that are written or removed. */
  readonly files: ReadonlySet<string>;
  readonly units: ReadonlySet<string>;
}

type Ports = Pick<HostPorts, 'files' | 'users'>;

/**
 * Compares what a config wants with the disk. Originals are kept before a path is first written;
 * paths that only the old config had go back to what they were.
 *
 * @param old - absent = the host had no config
 * @throws `ApplyFailed` naming a path that is a directory or a device, or an owner that the host lacks
 */
export async function pathChanges(
  ports: Ports,
  old: WantedPaths | undefined,
  desired: WantedPaths,
): Promise<PathChanges> {
  const changes: PathChange[] = [];
  const touched = { file: new Set<string>(), unit: new Set<string>(), sshKeys: new Set<string>() };
  for (const [path, wanted] of desired) {
    const now = await ports.files.look(path);
    if (wanted.part !== 'sshKeys' && wanted.kind !== 'absent') {
      changes.push(...(await keepOriginal(ports.files, path, old?.has(path) ?? false)));
    }
    const state = await changeTo(ports, path, wanted, now);
    if (state === undefined) continue;
    changes.push({ path, state });
    touched[wanted.part].add(wanted.name);
  }
  for (const [path, wanted] of old ?? []) {
    if (desired.has(path) || wanted.kind === 'absent' || isKept(path)) continue;
    changes.push(...(await staleChanges(ports, path, wanted)));
    touched[wanted.part].add(wanted.name);
  }
  return { changes, files: touched.file, units: touched.unit };
}

/** What to write; undefined when the disk is right already. */
async function changeTo(
  ports: Ports,
  path: string,
  wanted: WantedPath,
  now: PathState,
): Promise<PathState | undefined> {
  if (now.kind === 'directory' || now.kind === 'other') {
    const what = now.kind === 'directory' ? 'a directory' : 'not a file';
    throw fail('ApplyFailed', `write ${path}: it is ${what} on the host`, { path });
  }
  switch (wanted.kind) {
    case 'absent':
      if (now.kind === 'absent' || (wanted.onlyMask && !isMask(now))) return undefined;
      return { kind: 'absent' };
    case 'symlink':
      if (now.kind === 'symlink' && now.target === wanted.target) return undefined;
      return { kind: 'symlink', target: wanted.target };
    case 'file': {
      const owner = await ownerOf(ports, wanted.owner);
      const kept = now.kind === 'file' ? now.content : Buffer.alloc(0);
      const content = wanted.content ?? kept;
      const isRight =
        now.kind === 'file' &&
        now.mode === wanted.mode &&
        now.owner.uid === owner.uid &&
        now.owner.gid === owner.gid &&
        now.content.equals(content);
      return isRight ? undefined : { kind: 'file', content, mode: wanted.mode, owner };
    }
  }
}

async function staleChanges(
  { files }: Ports,
  path: string,
  wanted: WantedPath,
): Promise<readonly PathChange[]> {
  if (wanted.part === 'sshKeys') return [{ path, state: { kind: 'absent' } }];
  return restoreOriginal(files, path);
}

function isMask(state: PathState): boolean {
  return state.kind === 'symlink' && state.target === '/dev/null';
}

function isKept(path: string): boolean {
  return KEPT_WHEN_STALE.some((kept) =>
    kept.endsWith('/') ? path.startsWith(kept) : path === kept,
  );
}

/** The numbers of an owner, resolved on the host; whatever is not named is root. */
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
