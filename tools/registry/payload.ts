/** The payload image of a release, in the form of OKD's, in a real registry. */

import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

interface Payload {
  /** `host:port/name`, over plain HTTP. */
  readonly repository: string;
  readonly tag: string;
  readonly version: string;
  /** By tag. */
  readonly images: Readonly<Record<string, string>>;
}

const REFERENCES = 'release-manifests/image-references';

/** @returns the reference by digest */
export async function pushPayload({ repository, tag, version, images }: Payload): Promise<string> {
  const references = {
    kind: 'ImageStream',
    apiVersion: 'image.openshift.io/v1',
    metadata: { name: version },
    spec: {
      lookupPolicy: { local: false },
      tags: Object.entries(images).map(([name, image]) => ({
        ...{ name, from: { kind: 'DockerImage', name: image } },
        ...{ generation: 2, importPolicy: {}, referencePolicy: { type: 'Source' } },
      })),
    },
  };
  // As in a real one, the operator's own files are below.
  return pushImage(repository, tag, [
    { 'usr/bin/cluster-version-operator': 'a program\n' },
    { [REFERENCES]: `${JSON.stringify(references, null, 2)}\n` },
  ]);
}

/**
 * @param repository - `host:port/name`, over plain HTTP
 * @param layers - files by path, the lowest layer first
 * @returns the reference by digest
 */
export async function pushImage(
  repository: string,
  tag: string,
  layers: readonly Readonly<Record<string, string>>[],
  labels: Readonly<Record<string, string>> = {},
): Promise<string> {
  const packed = await Promise.all(layers.map(layerOf));
  const config = Buffer.from(
    JSON.stringify({
      ...{ architecture: 'amd64', os: 'linux', config: { Labels: labels } },
      rootfs: { type: 'layers', diff_ids: packed.map(({ diffId }) => diffId) },
    }),
  );
  const base = new URL(`http://${repository.replace('/', '/v2/')}/`);
  for (const blob of [config, ...packed.map(({ blob: layer }) => layer)]) {
    await pushBlob(base, blob);
  }
  const manifest = Buffer.from(
    JSON.stringify({
      ...{ schemaVersion: 2, mediaType: 'application/vnd.oci.image.manifest.v1+json' },
      config: described('application/vnd.oci.image.config.v1+json', config),
      layers: packed.map(({ blob }) =>
        described('application/vnd.oci.image.layer.v1.tar+gzip', blob),
      ),
    }),
  );
  const answer = await fetch(new URL(`manifests/${tag}`, base), {
    method: 'PUT',
    headers: { 'content-type': 'application/vnd.oci.image.manifest.v1+json' },
    body: new Uint8Array(manifest),
  });
  if (answer.status !== 201) throw new Error(`the registry answers ${answer.status} to a manifest`);
  return `${repository}@${digestOf(manifest)}`;
}

interface PackedLayer {
  readonly blob: Buffer;
  readonly diffId: string;
}

async function layerOf(files: Readonly<Record<string, string>>): Promise<PackedLayer> {
  const archive = pack();
  for (const [name, content] of Object.entries(files)) archive.entry({ name }, content);
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive as AsyncIterable<Buffer>) chunks.push(chunk);
  const tar = Buffer.concat(chunks);
  return { blob: gzipSync(tar), diffId: digestOf(tar) };
}

async function pushBlob(base: URL, blob: Buffer): Promise<void> {
  const begun = await fetch(new URL('blobs/uploads/', base), { method: 'POST' });
  const location = new URL(begun.headers.get('location') ?? '', base);
  location.searchParams.set('digest', digestOf(blob));
  const ended = await fetch(location, { method: 'PUT', body: new Uint8Array(blob) });
  if (ended.status !== 201) throw new Error(`the registry answers ${ended.status} to a blob`);
}

function described(mediaType: string, blob: Buffer): object {
  return { mediaType, digest: digestOf(blob), size: blob.length };
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
