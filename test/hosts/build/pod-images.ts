/** Images for pods without a registry. */

import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execute } from '../execute';

/** Both are a program that sleeps until SIGTERM. */
const NAMES = ['images.test/pause:1', 'images.test/workload:1'];
const COMMAND = ['/busybox', 'sh', '-c', 'trap "exit 0" TERM; while :; do sleep 3600 & wait; done'];

/** Containerd imports the archives at boot. */
export async function packImage(busybox: string, folder: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'slipway-image-'));
  try {
    const layout = join(work, 'layout');
    const blobs = join(layout, 'blobs', 'sha256');
    await mkdir(blobs, { recursive: true });
    const root = join(work, 'root');
    await mkdir(join(root, 'bin'), { recursive: true });
    await cp(busybox, join(root, 'busybox'));
    const layer = join(work, 'layer.tar');
    await execute('tar', [...REPRODUCIBLE, '-cf', layer, '-C', root, '.']);
    const add = (content: string | Buffer) => addBlob(blobs, content);
    const layerBlob = await add(await readFile(layer));
    const config = await add(
      JSON.stringify({
        architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
        os: 'linux',
        config: { Cmd: COMMAND, Env: ['PATH=/bin'] },
        rootfs: { type: 'layers', diff_ids: [layerBlob.digest] },
      }),
    );
    const manifest = await add(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: MANIFEST,
        config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...config },
        layers: [{ mediaType: 'application/vnd.oci.image.layer.v1.tar', ...layerBlob }],
      }),
    );
    await writeFile(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
    for (const name of NAMES) {
      const entry = {
        mediaType: MANIFEST,
        ...manifest,
        annotations: { 'io.containerd.image.name': name },
      };
      await writeFile(
        join(layout, 'index.json'),
        JSON.stringify({ schemaVersion: 2, manifests: [entry] }),
      );
      const file = `${name.replace(/[^a-z]+/g, '-')}.tar`;
      await execute('tar', [...REPRODUCIBLE, '-cf', join(folder, file), '-C', layout, '.']);
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const REPRODUCIBLE = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];

async function addBlob(
  blobs: string,
  content: string | Buffer,
): Promise<{ readonly digest: string; readonly size: number }> {
  const bytes = Buffer.from(content);
  const hex = createHash('sha256').update(bytes).digest('hex');
  await writeFile(join(blobs, hex), bytes);
  return { digest: `sha256:${hex}`, size: bytes.length };
}
