/**
 * The bundle of a pool, from the ControllerConfig and the Secret that it names. Every file is whole:
 * what is wrong is left out and said, and hosts keep what they have for it.
 *
 * @see MCO pkg/daemon/certificate_writer.go (7ff337a4), syncControllerConfigHandler
 */

import { createHash } from 'node:crypto';
import { isRecord } from '../is-record';
import { authorityIn, registryAuthorities } from './authorities';
import { BUNDLE_PATH } from './paths';
import {
  type FoundSecret,
  internalPullSecret,
  pullSecretReference,
  readPullSecret,
} from './pull-secret';
import {
  type BundleFile,
  type BundleProblem,
  type HostBundle,
  PUBLIC_MODE,
  SECRET_MODE,
} from './types';

/** What all pools share. */
export interface BundleContents {
  readonly files: readonly BundleFile[];
  readonly keeps: readonly string[];
  /** What hosts have of registries stays as a whole: it is not known which files are meant. */
  readonly keepsRegistries: boolean;
  readonly apiServerAuthority?: string;
  readonly problems: readonly BundleProblem[];
}

export function specOf(controllerConfig: unknown): Readonly<Record<string, unknown>> {
  const spec = isRecord(controllerConfig) ? controllerConfig['spec'] : undefined;
  return isRecord(spec) ? spec : {};
}

/** @param pullSecret - the Secret that `spec.pullSecret` names; not looked at when it names none */
export function composeBundle(controllerConfig: unknown, pullSecret: FoundSecret): BundleContents {
  const spec = specOf(controllerConfig);
  const files: BundleFile[] = [];
  const keeps: string[] = [];
  const problems: BundleProblem[] = [];
  const add = (
    path: string,
    mode: BundleFile['mode'],
    found: { readonly bytes: Uint8Array } | { readonly problem: BundleProblem } | undefined,
  ): void => {
    if (found === undefined) return;
    if ('bytes' in found) {
      files.push({ path, mode, content: Buffer.from(found.bytes).toString('base64') });
      return;
    }
    keeps.push(path);
    problems.push(found.problem);
  };
  for (const [field, path] of [
    ['kubeAPIServerServingCAData', BUNDLE_PATH.KUBELET_AUTHORITY],
    ['cloudProviderCAData', BUNDLE_PATH.CLOUD_AUTHORITY],
  ] as const) {
    const found = authorityIn(spec, field);
    add(path, PUBLIC_MODE, found && 'pem' in found ? bytesOf(found.pem) : found);
  }
  const reference = pullSecretReference(spec);
  if (reference !== undefined) {
    const found = 'problem' in reference ? reference : readPullSecret(reference, pullSecret);
    add(BUNDLE_PATH.PULL_SECRET, SECRET_MODE, found);
  }
  add(BUNDLE_PATH.INTERNAL_PULL_SECRET, SECRET_MODE, internalPullSecret(spec));
  const registries = registryAuthorities(spec);
  for (const [path, pem] of registries.files) add(path, PUBLIC_MODE, bytesOf(pem));
  const root = authorityIn(spec, 'rootCAData');
  const isWrong = root !== undefined && 'problem' in root;
  return {
    files: files.sort((a, b) => (a.path < b.path ? -1 : 1)),
    keeps: [...keeps, ...registries.keeps].sort(),
    keepsRegistries: registries.isPartial,
    ...(root !== undefined && 'pem' in root ? { apiServerAuthority: root.pem } : {}),
    problems: [...problems, ...registries.problems, ...(isWrong ? [root.problem] : [])],
  };
}

export function bundleOfPool(pool: string, contents: BundleContents): HostBundle {
  const { files, keeps, apiServerAuthority } = contents;
  return sealed({
    pool,
    files,
    keeps: contents.keepsRegistries ? [...keeps, ALL_REGISTRIES] : keeps,
    ...(apiServerAuthority === undefined ? {} : { apiServerAuthority }),
  });
}

/** In `keeps`: every file of a registry. */
export const ALL_REGISTRIES = '*';

/** With the digest of its contents: pools with the same contents name the same bundle. */
export function sealed(bundle: Omit<HostBundle, 'digest'>): HostBundle {
  const { files, keeps, apiServerAuthority = null } = bundle;
  const lines = files.map(({ path, mode, content }) => [path, mode, content]);
  const text = JSON.stringify([lines, keeps, apiServerAuthority]);
  return { ...bundle, digest: createHash('sha256').update(text).digest('hex') };
}

function bytesOf(text: string): { readonly bytes: Uint8Array } {
  return { bytes: Buffer.from(text) };
}
