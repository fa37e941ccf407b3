/** Images of the container runtime, by the program that the machine has: crictl, else ctr. */

import { access, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { parseReference } from '../../../core/registries/reference';
import { basicFor } from '../../registry/credentials';
import type { RunCommand } from '../os/command';
import { compressedBytes } from './image-size';
import { createPins } from './pins';
import { findProgram, type ImageProgram } from './programs';

/** In bytes. */
export interface ImageRoom {
  readonly free: number;
  readonly total: number;
}

export interface ContainerImages {
  has(image: string, signal: AbortSignal): Promise<boolean>;
  /** Of its compressed layers; undefined = nobody says before the pull. */
  bytes(image: string, signal: AbortSignal): Promise<number | undefined>;
  /** @throws `PullFailed`, `OsCommandFailed` */
  pull(image: string, signal: AbortSignal): Promise<void>;
  /** Of the file system that holds them. */
  room(): Promise<ImageRoom>;
  /**
   * Pins those of the images that are on the machine, so that the kubelet does not delete them, and
   * unpins all others that were pinned here.
   *
   * @throws `OsCommandFailed`
   */
  pin(images: readonly string[], signal: AbortSignal): Promise<void>;
}

interface Places {
  /** The machine's root directory. */
  readonly root: string;
  readonly run: RunCommand;
}

/** The first that exists. */
const STORES = [
  'var/lib/containers/storage',
  'var/lib/containerd',
  'var/lib/rancher',
  'var/lib',
] as const;
const OF_THE_KUBELET = 'var/lib/kubelet/config.json';
const PULL_MS = 30 * 60_000;

export function createContainerImages({ root, run }: Places): ContainerImages {
  let known: ImageProgram | undefined;
  const found = async (): Promise<ImageProgram> => (known ??= await findProgram(run));
  const pins = createPins({ root, run });
  return {
    has: async (image, signal) => (await found()).has(image, { signal }),
    bytes: async (image, signal) => compressedBytes(image, run, await authFile(root), signal),
    pull: async (image, signal) => {
      const auth = await credentialsFor(image, root);
      const runtime = await found();
      await runtime.pull(image, auth, { signal, timeoutMs: PULL_MS });
    },
    room: async () => {
      const { bavail, blocks, bsize } = await statfs(await storeBelow(root));
      return { free: bavail * bsize, total: blocks * bsize };
    },
    pin: (images, signal) => pins.set(images, { signal }),
  };
}

/** Those of the kubelet. */
async function credentialsFor(image: string, root: string): Promise<string | undefined> {
  const file = await authFile(root);
  const name = parseReference(image)?.name ?? '';
  return file === undefined ? undefined : basicFor(name, { REGISTRY_AUTH_FILE: file });
}

async function authFile(root: string): Promise<string | undefined> {
  const file = join(root, OF_THE_KUBELET);
  return (await exists(file)) ? file : undefined;
}

async function storeBelow(root: string): Promise<string> {
  for (const store of STORES) {
    const path = join(root, store);
    if (await exists(path)) return path;
  }
  return root;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
