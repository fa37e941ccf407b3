/** An OS image with more layers, which no host has yet. */

import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { copyFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { noise, type Registry } from '../../../tools/registry';
import { osImages, type OsVersion } from '../build/images';
import { addLayer, digestOfTag } from '../build/oci-layout';
import { execute } from '../execute';

export interface StoryImage {
  /** `host:port/os@sha256:…`. */
  readonly reference: string;
  /** Of the added layers, the lowest first. */
  readonly added: readonly string[];
}

export interface ImageBlobs {
  readonly config: string;
  readonly layers: readonly string[];
  /** Compressed, in bytes, by layer. */
  readonly sizes: ReadonlyMap<string, number>;
}

export interface StoryImageOptions {
  readonly registry: Registry;
  /** Layers differ from those of any other name. */
  readonly tag: string;
  readonly from: OsVersion;
  readonly layers: number;
  /** Of each layer; they do not compress. */
  readonly bytes: number;
}

/** The file `/usr/lib/story/<tag>` shows that a machine has it. */
export async function publishStoryImage(options: StoryImageOptions): Promise<StoryImage> {
  const { registry, tag, from, layers, bytes } = options;
  const work = await mkdtemp(join(registry.directory, 'story-image-'));
  try {
    const layout = await linkedLayout(await osImages(), join(work, 'oci'));
    let below: string = from;
    for (let number = 1; number <= layers; number += 1) {
      const folder = join(work, `layer-${number}`);
      const name = number === layers ? tag : `${tag}-${number}`;
      const path = join(folder, 'usr/lib/story', name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, noise(name, bytes));
      await addLayer(layout, { from: below, tag: name, comment: name }, folder);
      below = name;
    }
    await execute('skopeo', [
      ...['copy', '--quiet', '--dest-tls-verify=false', '--preserve-digests'],
      ...[`oci:${layout}:${tag}`, `docker://${registry.address}/os:${tag}`],
    ]);
    const reference = `${registry.address}/os@${await digestOfTag(layout, tag)}`;
    const { layers: all } = await blobsOf(registry, reference);
    return { reference, added: all.slice(-layers) };
  } finally {
    await rm(work, { recursive: true });
  }
}

export async function blobsOf(registry: Registry, reference: string): Promise<ImageBlobs> {
  const [, name = '', digest = ''] = /^[^/]+\/(.*)@(.*)$/.exec(reference) ?? [];
  const answer = await fetch(`http://${registry.address}/v2/${name}/manifests/${digest}`, {
    headers: { accept: 'application/vnd.oci.image.manifest.v1+json' },
  });
  if (!answer.ok) throw new Error(`the registry answers ${answer.status} for ${reference}`);
  const manifest = (await answer.json()) as {
    readonly config: { readonly digest: string };
    readonly layers: readonly { readonly digest: string; readonly size: number }[];
  };
  return {
    config: manifest.config.digest,
    layers: manifest.layers.map(({ digest: one }) => one),
    sizes: new Map(manifest.layers.map(({ digest: one, size }) => [one, size])),
  };
}

/** Additions do not change the other layout. */
async function linkedLayout(from: string, to: string): Promise<string> {
  const blobs = join('blobs', 'sha256');
  await mkdir(join(to, blobs), { recursive: true });
  for (const file of ['oci-layout', 'index.json']) await copyFile(join(from, file), join(to, file));
  for (const blob of await readdir(join(from, blobs))) {
    await symlink(join(from, blobs, blob), join(to, blobs, blob));
  }
  return to;
}
