/** Layers of images: those that a manifest names, and those that a machine has pulled. */

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonFields } from './json-fields';

export interface Layer {
  readonly digest: string;
  /** Compressed. */
  readonly bytes: number;
}

/** Those of an image, by its manifest. */
export function layersIn(manifest: JsonFields): readonly Layer[] {
  return manifest
    .objects('layers')
    .map((layer) => ({ digest: layer.text('digest'), bytes: layer.count('size') }));
}

/**
 * Where ostree-ext, beneath all three, keeps a reference to each layer that is in.
 *
 * @see https://docs.rs/ostree-ext/latest/ostree_ext/container/store/index.html
 */
const LAYER_REFS = 'ostree/repo/refs/heads/ostree/container/blob';

/**
 * Digests of the layers, `sha256:…`, that rpm-ostree, bootc or slipway-ostree have pulled; none where no
 * image was ever pulled.
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
