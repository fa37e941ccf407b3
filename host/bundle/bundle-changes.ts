/** What a bundle changes on this disk. */

import { ROOT_OWNER } from '../../adapters/host';
import {
  ALL_REGISTRIES,
  type BundleFile,
  clusterIn,
  type HostBundle,
  isRegistryPath,
  PUBLIC_MODE,
  sameAuthorities,
  withAuthority,
} from '../../core/host-bundle';
import { NOT_COMPARED } from '../drift/compare';
import { heldPaths } from '../paths/appended';
import { refuseObstacle } from '../paths/path-changes';
import type { HostPorts, PathChange } from '../ports';
import { digestOf, type HostConfig } from '../records/configs';
import type { BundleRecord } from './bundle-record';

/**
 * By which a kubelet finds the API server; the first two are MCO's and kubeadm's. Their change by
 * others is noticed, as that of the paths of a bundle.
 */
export const KUBECONFIGS: readonly string[] = [
  '/etc/kubernetes/kubeconfig',
  '/etc/kubernetes/kubelet.conf',
  '/etc/kubernetes/bootstrap-kubelet.conf',
  '/var/lib/kubelet/kubeconfig',
];

export interface BundleChanges {
  readonly changes: readonly PathChange[];
  /** API servers that have to be recognised by the new authority, `https://host:port`. */
  readonly servers: readonly string[];
  /** Paths that the config of the host has, too. */
  readonly leftToConfig: readonly string[];
  readonly record: BundleRecord;
}

/**
 * The config wins at a path of its own, because drift compares it, except for authorities that no
 * config is compared for: there a bundle wins, as in MCO.
 *
 * @param config - absent: the host has none yet
 * @throws `ApplyFailed` naming a path that is a directory or a device
 */
export async function bundleChanges(
  ports: Pick<HostPorts, 'files'>,
  bundle: HostBundle,
  config: HostConfig | undefined,
  before: BundleRecord,
): Promise<BundleChanges> {
  const { files } = ports;
  const claimed = config === undefined ? new Map() : await heldPaths(files, config.spec);
  const isLeft = (path: string): boolean => claimed.has(path) && !NOT_COMPARED.includes(path);
  const written: Record<string, string> = {};
  const changes: PathChange[] = [];
  for (const file of bundle.files) {
    if (isLeft(file.path)) continue;
    const content = Buffer.from(file.content, 'base64');
    written[file.path] = digestOf(content);
    const change = await changeOf(ports, file, content);
    if (change !== undefined) changes.push(change);
  }
  const kept = new Set(bundle.keeps);
  for (const [path, digest] of Object.entries(before.written)) {
    if (path in written || isLeft(path)) continue;
    if (!isRegistryPath(path) || kept.has(path) || kept.has(ALL_REGISTRIES)) {
      written[path] = digest;
      continue;
    }
    const now = await files.look(path);
    // What somebody else has put there since is not the bundle's.
    if (now.kind === 'file' && digestOf(now.content) === digest) {
      changes.push({ path, state: { kind: 'absent' } });
    }
  }
  const kubeconfigs = await kubeconfigChanges(ports, bundle, isLeft);
  return {
    changes: [...changes, ...kubeconfigs.changes],
    servers: kubeconfigs.servers,
    leftToConfig: bundle.files.map(({ path }) => path).filter(isLeft),
    record: { written },
  };
}

/** An authority keeps the mode of its file, as in MCO; a secret never has a wider one. */
async function changeOf(
  { files }: Pick<HostPorts, 'files'>,
  file: BundleFile,
  content: Buffer,
): Promise<PathChange | undefined> {
  const { path } = file;
  const now = await files.facts(path);
  refuseObstacle(path, now);
  const there = now.kind === 'file' ? now : undefined;
  const mode = file.mode === PUBLIC_MODE ? (there?.mode ?? file.mode) : file.mode;
  if (there?.mode === mode && (await files.holds(path, content))) return undefined;
  const attributes = { keep: true } as const;
  return {
    path,
    state: { kind: 'file', content, mode, owner: there?.owner ?? ROOT_OWNER, attributes },
  };
}

async function kubeconfigChanges(
  { files }: Pick<HostPorts, 'files'>,
  { apiServerAuthority }: HostBundle,
  isLeft: (path: string) => boolean,
): Promise<Pick<BundleChanges, 'changes' | 'servers'>> {
  const changes: PathChange[] = [];
  const servers = new Set<string>();
  if (apiServerAuthority === undefined) return { changes, servers: [] };
  for (const path of KUBECONFIGS) {
    if (isLeft(path)) continue;
    const now = await files.look(path);
    if (now.kind !== 'file') continue;
    const text = now.content.toString('utf8');
    const cluster = clusterIn(text);
    if (cluster === undefined || sameAuthorities(cluster.authority, apiServerAuthority)) continue;
    const content = Buffer.from(withAuthority(text, apiServerAuthority));
    const { mode, owner } = now;
    const attributes = { keep: true } as const;
    changes.push({ path, state: { kind: 'file', content, mode, owner, attributes } });
    servers.add(cluster.server);
  }
  return { changes, servers: [...servers] };
}
