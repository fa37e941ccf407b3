/**
 * Reads images from registries.
 *
 * @see https://github.com/opencontainers/distribution-spec/blob/main/spec.md
 */

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { fail, messageOf } from '../../core/errors';
import { isRecord } from '../../core/is-record';
import { type ImageReference, referenceText, splitHost } from '../../core/registries/reference';
import { textAt, textEntriesAt } from '../../core/values-at';
import { Door } from './door';
import { textOf } from './request';

const MANIFESTS = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];
/** A larger manifest is refused by registries, too. */
const MAX_MANIFEST = 4 * 1024 * 1024;

export interface Layer {
  readonly digest: string;
  readonly mediaType: string;
}

export interface ImageManifest {
  /** Of the image as it was named: for several architectures, of the list. */
  readonly digest: string;
  /** Digest of its config. */
  readonly config: string;
  /** The lowest first. */
  readonly layers: readonly Layer[];
}

export class RegistryClient {
  readonly #doors = new Map<string, Door>();

  constructor(
    readonly env: Readonly<Record<string, string | undefined>>,
    readonly signal: AbortSignal,
  ) {}

  /** @throws `PullFailed` */
  async digest(reference: ImageReference): Promise<string> {
    return (await this.#manifest(reference)).digest;
  }

  /** Of an image for several architectures, that for amd64 or else the first. @throws `PullFailed` */
  async image(reference: ImageReference): Promise<ImageManifest> {
    const { digest, value } = await this.#manifest(reference);
    const inside = ofOneMachine(value);
    if (inside === undefined) return { digest, ...partsOf(value, reference) };
    const one = { name: reference.name, tag: '', digest: inside };
    return { digest, ...partsOf((await this.#manifest(one)).value, one) };
  }

  /** @throws `PullFailed` */
  async labels(reference: ImageReference): Promise<Readonly<Record<string, string>>> {
    const { config } = await this.image(reference);
    const body = await textOf(await this.blob(reference, config), MAX_MANIFEST).catch(
      (error: unknown) => {
        throw this.#failed(reference, messageOf(error));
      },
    );
    const value = digestOf(body) === config ? parsed(body) : undefined;
    if (value === undefined)
      throw this.#failed(reference, 'its config is not what its digest says');
    return Object.fromEntries(textEntriesAt(value, 'config', 'Labels'));
  }

  /** Its digest is not checked yet. @throws `PullFailed` */
  blob(reference: ImageReference, digest: string): Promise<IncomingMessage> {
    return this.#get(reference, `blobs/${digest}`, {});
  }

  async #manifest(
    reference: ImageReference,
  ): Promise<{ readonly digest: string; readonly value: Readonly<Record<string, unknown>> }> {
    const { tag, digest: wanted } = reference;
    const place = `manifests/${wanted || tag || 'latest'}`;
    const answer = await this.#get(reference, place, { accept: MANIFESTS.join(', ') });
    const body = await textOf(answer, MAX_MANIFEST).catch((error: unknown) => {
      throw this.#failed(reference, messageOf(error));
    });
    const digest = digestOf(body);
    if (wanted !== '' && wanted !== digest) {
      throw this.#failed(reference, `the registry gave another manifest, ${digest}`);
    }
    const value = parsed(body);
    if (value === undefined) throw this.#failed(reference, 'the manifest is not JSON');
    return { digest, value };
  }

  async #get(
    reference: ImageReference,
    place: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<IncomingMessage> {
    const { host, path } = splitHost(reference.name);
    const door = this.#doors.get(reference.name) ?? new Door(host, reference.name, this);
    this.#doors.set(reference.name, door);
    const answer = await door.get(`/v2/${path}/${place}`, headers).catch((error: unknown) => {
      throw this.#failed(reference, messageOf(error));
    });
    if (answer.statusCode === 200) return answer;
    answer.resume();
    throw this.#failed(reference, refusal(answer.statusCode ?? 0, host, door.hasCredentials));
  }

  #failed(reference: ImageReference, why: string): Error {
    return fail('PullFailed', `image ${referenceText(reference)}: ${why}`);
  }
}

function refusal(status: number, host: string, hasCredentials: boolean): string {
  if (status === 404)
    return 'the registry has no such image; correct the name, the tag or the digest';
  if (status !== 401 && status !== 403) return `the registry ${host} answers ${status}`;
  return hasCredentials
    ? `the registry ${host} refuses your credentials (${status}); log in again, or name another file with --authfile`
    : `the registry ${host} asks for credentials (${status}); log in with podman, skopeo or docker, or name a file with --authfile`;
}

function parsed(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined = the manifest is that of one machine. */
function ofOneMachine({ manifests }: Readonly<Record<string, unknown>>): string | undefined {
  if (!Array.isArray(manifests)) return undefined;
  const entries = (manifests as readonly unknown[]).filter(isRecord);
  const isUsual = ({ platform }: Readonly<Record<string, unknown>>): boolean =>
    isRecord(platform) && platform['os'] === 'linux' && platform['architecture'] === 'amd64';
  const digest = (entries.find(isUsual) ?? entries[0])?.['digest'];
  return typeof digest === 'string' ? digest : undefined;
}

function partsOf(
  { layers, config }: Readonly<Record<string, unknown>>,
  reference: ImageReference,
): Pick<ImageManifest, 'layers' | 'config'> {
  const read = (Array.isArray(layers) ? (layers as readonly unknown[]) : []).flatMap((layer) => {
    const [digest, mediaType] = [textAt(layer, 'digest'), textAt(layer, 'mediaType')];
    return digest === undefined || mediaType === undefined ? [] : [{ digest, mediaType }];
  });
  if (read.length > 0) return { layers: read, config: textAt(config, 'digest') ?? '' };
  throw fail('PullFailed', `image ${referenceText(reference)}: its manifest names no layers`);
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
