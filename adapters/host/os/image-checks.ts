/**
 * Before the pull: digest, signature policy, presence in the registry, architecture, free space.
 */

import { statfs } from 'node:fs/promises';
import { fail } from '../../../core/errors';
import { imageDigest } from '../../../core/os';
import type { StepContext } from './os-status';
import type { ImageGate } from './image-gate';
import { readImageDemand, type PolicyVerdict } from './image-policy';

export interface ImageFacts {
  readonly architecture: string;
  /** Compressed layers that are not on the host. */
  readonly missingBytes: number;
  /** By the label of bootable images; absent: not known. */
  readonly bootable?: boolean;
}

/**
 * With the tools and credentials of the host. `signed` = the policy requires a signature, so a tool
 * that would not verify it must refuse.
 *
 * @throws `PullFailed` when the registry does not have the image or does not answer; `ImageRefused`
 */
export type InspectImage = (
  image: string,
  signed: boolean,
  context: StepContext,
) => Promise<ImageFacts>;

interface ImageGateParts {
  readonly inspect: InspectImage;
  /** It has the signature policy. */
  readonly root: string;
  /** Images are unpacked here: `/sysroot` on an ostree machine. */
  readonly sysroot: string;
  readonly architecture: string;
  /** Share of the disk; default: 5 %. */
  readonly reserve?: number;
}

/** Times the compressed size of a layer. */
const UNPACKING = 3;
const RESERVE = 0.05;
const MIB = 1024 * 1024;

export function createImageGate(parts: ImageGateParts): ImageGate {
  return {
    async check(image, context) {
      requireDigest(image);
      context.progress(`asking about ${image}`);
      const { demand } = await requirePolicy(parts.root, image);
      const facts = await parts.inspect(image, demand === 'signed', context);
      requireBootable(image, facts);
      requireArchitecture(image, facts.architecture, parts.architecture);
      await requireSpace(image, facts.missingBytes, parts);
    },
    usesSignedForm: async (image) => {
      const { demand, acceptsByDefault } = await requirePolicy(parts.root, image);
      return demand === 'signed' && !acceptsByDefault;
    },
  };
}

/** @throws `ImageRefused` for a tag or a bare name, which may be another image on the next host */
export function requireDigest(image: string): string {
  const digest = imageDigest(image);
  if (digest !== undefined) return digest;
  throw fail(
    'ImageRefused',
    `image "${image}" has no digest; name it as name@sha256:… so that every host gets the same one`,
    { image },
  );
}

/** @throws `ImageRefused` naming the scope that rejects the image */
export async function requirePolicy(root: string, image: string): Promise<PolicyVerdict> {
  const verdict = await readImageDemand(root, image);
  const { demand, scope } = verdict;
  if (demand !== 'reject') return verdict;
  throw fail(
    'ImageRefused',
    `the signature policy of this host (containers/policy.json, scope ${scope}) rejects image ${image}`,
    { image, scope },
  );
}

function requireBootable(image: string, { bootable }: ImageFacts): void {
  if (bootable !== false) return;
  throw fail(
    'ImageRefused',
    `image ${image} is not an OS image: it has neither the label ostree.bootable nor containers.bootc`,
    { image },
  );
}

/** @throws `ImageRefused` */
function requireArchitecture(image: string, found: string, architecture: string): void {
  const wanted = ociArchitecture(architecture);
  if (found === wanted) return;
  throw fail('ImageRefused', `image ${image} is for ${found}; this machine is ${wanted}`, {
    image,
  });
}

function ociArchitecture(architecture: string): string {
  const names: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };
  return names[architecture] ?? architecture;
}

/** @throws `ImageRefused` when unpacking would leave the disk nearly full */
export async function requireSpace(
  image: string,
  missingBytes: number,
  { sysroot, reserve = RESERVE }: Pick<ImageGateParts, 'sysroot' | 'reserve'>,
): Promise<void> {
  if (missingBytes === 0) return;
  const disk = await statfs(sysroot);
  const free = disk.bavail * disk.bsize;
  const needed = missingBytes * UNPACKING + disk.blocks * disk.bsize * reserve;
  if (free >= needed) return;
  const mib = (bytes: number): string => `${Math.ceil(bytes / MIB)} MiB`;
  throw fail(
    'ImageRefused',
    `no space for image ${image}: ${sysroot} has ${mib(free)} free and needs ${mib(needed)} ` +
      `(${mib(missingBytes)} to pull, unpacked about ${UNPACKING} times as much, and a reserve)`,
    { image },
  );
}
