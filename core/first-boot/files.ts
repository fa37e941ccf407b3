/** Files of the first config that no MachineConfig holds. */

import { encodeDataUrl } from '../encoding';
import { listOf, structOf, without, wordOf, type IgnitionObject } from '../ignition';

export const FIRST_BOOT_FILE = {
  /** Annotations for the future Node of the machine; the file marks its first boot. */
  NODE_ANNOTATIONS: '/etc/machine-config-daemon/node-annotations.json',
  /** The kubelet requests its certificate with it. */
  KUBECONFIG: '/etc/kubernetes/kubeconfig',
  /** The whole MachineConfig as served, for people. */
  SERVED_CONFIG: '/etc/mcs-machine-config-content.json',
  /** The MachineConfig without its Ignition: OS image, kernel arguments, extensions. */
  ENCAPSULATED_CONFIG: '/etc/ignition-machine-config-encapsulated.json',
  KUBELET_AUTHORITY: '/etc/kubernetes/kubelet-ca.crt',
  CLOUD_AUTHORITY: '/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem',
} as const;

/** 0644 */
const MODE = 420;

/** A text, or a `data:` URL for encoded contents. */
export interface FirstBootFile {
  readonly path: string;
  /** Default: 0644. */
  readonly mode?: number;
  readonly contents: string | { readonly source: string };
}

/**
 * Adds files after the config's own, and removes its own at their paths: Ignition accepts one per
 * path.
 */
export function withFiles(config: IgnitionObject, added: readonly FirstBootFile[]): IgnitionObject {
  const paths = new Set(added.map(({ path }) => path));
  return mapFiles(config, (files) => [
    ...files.filter((file) => !paths.has(wordOf(file['path']))),
    ...added.map(ignitionFile),
  ]);
}

/**
 * Adds those files for whose path the config has neither file nor link: with other contents there,
 * the machine would never be on its config.
 */
export function withMissingFiles(
  config: IgnitionObject,
  added: readonly FirstBootFile[],
): IgnitionObject {
  const storage = structOf(config['storage']);
  const own = new Set(
    ['files', 'links'].flatMap((list) => listOf(storage[list]).map(({ path }) => wordOf(path))),
  );
  return withFiles(
    config,
    added.filter(({ path }) => !own.has(path)),
  );
}

/** Replaces the config's files at these paths; appends the others. */
export function withReplacedFiles(
  config: IgnitionObject,
  replaced: readonly FirstBootFile[],
): IgnitionObject {
  return mapFiles(config, (files) => {
    const left = new Map(replaced.map((file) => [file.path, file]));
    const kept = files.map((file) => {
      const path = wordOf(file['path']);
      const replacement = left.get(path);
      if (replacement === undefined) return file;
      left.delete(path);
      // The whole contents, without appended parts: the old compression and hash do not apply.
      return {
        ...without(file, 'append'),
        overwrite: true,
        contents: { source: sourceOf(replacement) },
      };
    });
    return [...kept, ...[...left.values()].map(ignitionFile)];
  });
}

/**
 * The entry that prevents a file: a link at or above its path, or a directory at it, which Ignition
 * refuses since 3.0, or a file above it, with which Ignition fails on the machine.
 */
export function findObstacle(config: IgnitionObject):
  | {
      readonly kind: 'link' | 'directory' | 'file';
      readonly at: string;
      readonly file: string;
    }
  | undefined {
  const storage = structOf(config['storage']);
  const pathsOf = (list: string) => listOf(storage[list]).map((entry) => wordOf(entry['path']));
  const [links, directories] = [new Set(pathsOf('links')), new Set(pathsOf('directories'))];
  const files = new Set(pathsOf('files'));
  for (const file of files) {
    if (directories.has(file)) return { kind: 'directory', at: file, file };
    const parents = parentsOf(file);
    const link = [file, ...parents].find((path) => links.has(path));
    if (link !== undefined) return { kind: 'link', at: link, file };
    const above = parents.find((path) => files.has(path));
    if (above !== undefined) return { kind: 'file', at: above, file };
  }
  return undefined;
}

function parentsOf(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.slice(2).map((_, above) => parts.slice(0, -1 - above).join('/'));
}

function ignitionFile(file: FirstBootFile): IgnitionObject {
  const { path, mode = MODE } = file;
  return { path, overwrite: true, contents: { source: sourceOf(file) }, mode };
}

function sourceOf({ contents }: FirstBootFile): string {
  return typeof contents === 'string' ? encodeDataUrl(contents) : contents.source;
}

function mapFiles(
  config: IgnitionObject,
  change: (files: readonly IgnitionObject[]) => readonly IgnitionObject[],
): IgnitionObject {
  const storage = structOf(config['storage']);
  return { ...config, storage: { ...storage, files: change(listOf(storage['files'])) } };
}
