/** One file out of the layers of an image. */

import { createHash, type Hash } from 'node:crypto';
import { PassThrough, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { extract } from 'tar-stream';
import { fail, messageOf } from '../../core/errors';
import { type ImageReference, referenceText } from '../../core/registries/reference';
import type { ImageManifest, Layer, RegistryClient } from './client';

const MAX_FILE = 16 * 1024 * 1024;

/**
 * From the highest layer that has it; undefined = none has. Layers that remove files are not looked at.
 *
 * @param path - without a leading slash
 * @throws `PullFailed`, also for a layer with another digest
 */
export async function fileInImage(
  client: RegistryClient,
  reference: ImageReference,
  { layers }: ImageManifest,
  path: string,
): Promise<Buffer | undefined> {
  for (const layer of layers.toReversed()) {
    const found = await fileInLayer(client, reference, layer, path);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function fileInLayer(
  client: RegistryClient,
  reference: ImageReference,
  { digest, mediaType }: Layer,
  path: string,
): Promise<Buffer | undefined> {
  const blob = await client.blob(reference, digest);
  const hash = createHash('sha256');
  const tar = extract();
  const reading = fileInTar(tar, path);
  try {
    const sent = pipeline(
      blob,
      hashing(hash),
      decompressor(mediaType),
      tar as unknown as Transform,
    );
    const [found] = await Promise.all([reading, sent]);
    const real = `sha256:${hash.digest('hex')}`;
    if (real !== digest) throw new Error(`its content has another digest, ${real}`);
    return found;
  } catch (error) {
    const text = `image ${referenceText(reference)}: layer ${digest}: ${messageOf(error)}`;
    throw fail('PullFailed', text);
  }
}

async function fileInTar(
  tar: ReturnType<typeof extract>,
  path: string,
): Promise<Buffer | undefined> {
  let found: Buffer | undefined;
  for await (const entry of tar) {
    const { name, size, type } = entry.header;
    if (type !== 'file' || name.replace(/^(\.?\/)+/, '') !== path) {
      entry.resume();
      continue;
    }
    if (size > MAX_FILE) throw new Error(`${path} has more than ${MAX_FILE} bytes`);
    const chunks: Buffer[] = [];
    for await (const chunk of entry as AsyncIterable<Buffer>) chunks.push(chunk);
    found = Buffer.concat(chunks);
  }
  return found;
}

function hashing(hash: Hash): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
}

function decompressor(mediaType: string): Transform {
  if (mediaType.endsWith('gzip')) return createGunzip();
  return mediaType.endsWith('zstd') ? createZstdDecompress() : new PassThrough();
}
