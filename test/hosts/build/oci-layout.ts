import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { execute } from '../execute';

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

interface Index {
  readonly schemaVersion: 2;
  readonly manifests: readonly Descriptor[];
}

interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

interface ImageConfig {
  readonly rootfs: { readonly type: 'layers'; readonly diff_ids: readonly string[] };
  readonly history?: readonly Readonly<Record<string, unknown>>[];
}

const TAG = 'org.opencontainers.image.ref.name';
const MEDIA_TYPE = 'application/vnd.oci.image';

/** One layer: the files of a folder. */
export async function writeLayout(layout: string, tag: string, folder: string): Promise<void> {
  await mkdir(join(layout, 'blobs/sha256'), { recursive: true });
  await writeFile(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  const tar = await tarOf(folder);
  const config = await writeBlob(layout, {
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    config: {},
    rootfs: { type: 'layers', diff_ids: [digestOf(tar)] },
  });
  const layer = await writeBlob(layout, gzipSync(tar, { level: 6 }));
  const mediaType = `${MEDIA_TYPE}.manifest.v1+json`;
  const manifest = await writeBlob(layout, {
    schemaVersion: 2,
    mediaType,
    config: { mediaType: `${MEDIA_TYPE}.config.v1+json`, ...config },
    layers: [{ mediaType: `${MEDIA_TYPE}.layer.v1.tar+gzip`, ...layer }],
  });
  await writeIndex(layout, {
    schemaVersion: 2,
    manifests: [{ mediaType, ...manifest, annotations: { [TAG]: tag } }],
  });
}

/**
 * The image `tag`: `from` with the files of a folder on top.
 *
 * @param comment - of the layer, in the history of the image
 */
export async function addLayer(
  layout: string,
  { from, tag, comment }: { readonly from: string; readonly tag: string; readonly comment: string },
  folder: string,
): Promise<void> {
  const index = await readIndex(layout);
  const base = index.manifests.find(({ annotations }) => annotations?.[TAG] === from);
  if (base === undefined) throw new Error(`${layout} has no image ${from}`);
  const manifest = await readBlob<Manifest>(layout, base.digest);
  const config = await readBlob<ImageConfig>(layout, manifest.config.digest);
  const tar = await tarOf(folder);
  const layer = await writeBlob(layout, gzipSync(tar, { level: 6 }));
  const newConfig = await writeBlob(layout, {
    ...config,
    rootfs: { ...config.rootfs, diff_ids: [...config.rootfs.diff_ids, digestOf(tar)] },
    history: [...(config.history ?? []), { created_by: comment }],
  });
  const newManifest = await writeBlob(layout, {
    ...manifest,
    config: { ...manifest.config, ...newConfig },
    layers: [...manifest.layers, { mediaType: `${MEDIA_TYPE}.layer.v1.tar+gzip`, ...layer }],
  });
  const others = index.manifests.filter(({ annotations }) => annotations?.[TAG] !== tag);
  const entry = { mediaType: base.mediaType, ...newManifest, annotations: { [TAG]: tag } };
  await writeIndex(layout, { ...index, manifests: [...others, entry] });
}

export async function digestOfTag(layout: string, tag: string): Promise<string> {
  const { manifests } = await readIndex(layout);
  const found = manifests.find(({ annotations }) => annotations?.[TAG] === tag);
  if (found === undefined) throw new Error(`${layout} has no image ${tag}`);
  return found.digest;
}

async function tarOf(folder: string): Promise<Buffer> {
  const work = await mkdtemp(join(tmpdir(), 'slipway-layer-'));
  try {
    const file = join(work, 'layer.tar');
    const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
    await execute('tar', [...same, '-cf', file, '-C', folder, '.']);
    return await readFile(file);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function readIndex(layout: string): Promise<Index> {
  return JSON.parse(await readFile(join(layout, 'index.json'), 'utf8')) as Index;
}

async function writeIndex(layout: string, index: Index): Promise<void> {
  const draft = join(layout, 'index.json.new');
  await writeFile(draft, JSON.stringify(index));
  await rename(draft, join(layout, 'index.json'));
}

async function readBlob<T>(layout: string, digest: string): Promise<T> {
  return JSON.parse(await readFile(blobPath(layout, digest), 'utf8')) as T;
}

async function writeBlob(
  layout: string,
  content: Buffer | object,
): Promise<{ readonly digest: string; readonly size: number }> {
  const bytes = Buffer.isBuffer(content) ? content : Buffer.from(JSON.stringify(content));
  const digest = digestOf(bytes);
  const path = blobPath(layout, digest);
  if (
    !(await stat(path).then(
      () => true,
      () => false,
    ))
  )
    await writeFile(path, bytes);
  return { digest, size: bytes.length };
}

function blobPath(layout: string, digest: string): string {
  return join(layout, 'blobs', ...digest.split(':'));
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
