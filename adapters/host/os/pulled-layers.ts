import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonFields } from './json-fields';

export interface Layer {
  readonly digest: string;
  /** Compressed. */
  readonly bytes: number;
}

export function layersIn(manifest: JsonFields): readonly Layer[] {
  return manifest
    .objects('layers')
    .map((layer) => ({ digest: layer.text('digest'), bytes: layer.count('size') }));
}

/**
 * ostree-ext keeps a ref per pulled layer here.
 *
 * @see https://docs.rs/ostree-ext/latest/ostree_ext/container/store/index.html
 */
const LAYER_REFS = 'ostree/repo/refs/heads/ostree/container/blob';

/**
 * Digests (`sha256:…`), pulled by rpm-ostree, bootc or slipway-ostree.
 *
 * @param root - the machine's root directory
 */
export async function pulledLayers(root: string): Promise<ReadonlySet<string>> {
  const names = await readdir(join(root, LAYER_REFS)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  return new Set(names.map((name) => name.replace('_3A_', ':')));
}
