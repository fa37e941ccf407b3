/**
 * The driver of ostree machines without rpm-ostree and bootc. slipway-ostree
 * (programs/slipway-ostree) works with the same library. Mirrors, certificates and credentials are
 * the machine's: registries.conf, `/run/ostree/auth.json`, `/etc/ostree/auth.json`,
 * `/usr/lib/ostree/auth.json`.
 */

import { fail } from '../../../core/errors';
import { rpmOstreeKernelArguments, spelledAs } from '../../../core/os';
import type { StepContext } from './os-status';
import { readBootId } from './boot-id';
import { runCommand, type RunCommand } from './command';
import type { OsDriver } from './driver';
import { createImageGate, requireDigest, requirePolicy, type ImageFacts } from './image-checks';
import { createOstreeProgram, type OstreeProgram } from './ostree-program';
import { provideCredentials } from './registry-credentials';
import { readBaseArguments, readImageFacts, readOstreeStatus } from './ostree-status';

/** Packages put it here. */
export const OSTREE_PROGRAM = '/usr/lib/slipway/slipway-ostree';

interface OstreeParts {
  readonly program?: string;
  readonly run?: RunCommand;
  /** It has the signature policy. */
  readonly root?: string;
  /** `/` = the running system. */
  readonly sysroot?: string;
  readonly procDirectory?: string;
  readonly architecture: string;
}

const LAYERS_NOTHING =
  'the ostree driver installs no packages on a machine; build them into the OS image';

/** slipway-ostree gives up a silent registry earlier. */
const STAGE_TIMEOUT_MS = 2 * 60 * 60_000;
const INSPECT_TIMEOUT_MS = 2 * 60_000;

export function createOstreeDriver(parts: OstreeParts): OsDriver {
  const { program = OSTREE_PROGRAM, run = runCommand, root = '/', sysroot = '/' } = parts;
  const ostree = createOstreeProgram({ run, program, sysroot });
  const images = createImageGate({
    async inspect(image, signed, context) {
      await provideCredentials(root);
      return inspect(ostree, image, signed, context);
    },
    root,
    sysroot: sysroot === '/' ? '/sysroot' : sysroot,
    architecture: parts.architecture,
  });
  return {
    name: 'ostree',
    managesOs: true,
    lacks: { extensions: LAYERS_NOTHING, kernelType: LAYERS_NOTHING },
    async status() {
      const bootId = await readBootId(parts.procDirectory);
      return readOstreeStatus(await ostree(['status']), bootId);
    },
    checkImage: (image, context) => images.check(image, context),
    async stage(image, context) {
      requireDigest(image);
      const { demand } = await requirePolicy(root, image);
      await provideCredentials(root);
      await stage(ostree, image, demand === 'signed', context);
    },
    async setKernelArguments({ from, to }, { signal, progress }) {
      progress('setting kernel arguments');
      // slipway-ostree compares arguments as text.
      const base = readBaseArguments(await ostree(['status']));
      const changes = rpmOstreeKernelArguments(spelledAs(from, base), to);
      await ostree(['kernel-arguments', ...changes], { signal });
    },
    async setExtensions({ to }) {
      if (to.length > 0)
        throw fail('Unreconcilable', `extensions ${to.join(', ')}: ${LAYERS_NOTHING}`);
    },
    async setKernelType(type) {
      if (type === '' || type === 'default') return;
      throw fail('Unreconcilable', `kernel type ${type}: ${LAYERS_NOTHING}`);
    },
    finalize: async () => void (await ostree(['finalize'])),
    discard: async () => void (await ostree(['discard'])),
    rollback: async (deployment) => void (await ostree(['rollback', deployment])),
    cleanUp: async (deployment) => void (await ostree(['clean-up', deployment])),
  };
}

async function inspect(
  ostree: OstreeProgram,
  image: string,
  signed: boolean,
  { signal }: StepContext,
): Promise<ImageFacts> {
  const words = ['inspect', image, ...(signed ? ['--signed'] : [])];
  return readImageFacts(await ostree(words, { signal, timeoutMs: INSPECT_TIMEOUT_MS }));
}

/** Does nothing for an image that is staged, or booted with nothing else staged. */
async function stage(
  ostree: OstreeProgram,
  image: string,
  signed: boolean,
  { signal, progress }: StepContext,
): Promise<void> {
  const text = `pulling ${image}`;
  progress(text);
  await ostree(['stage', image, ...(signed ? ['--signed'] : [])], {
    signal,
    timeoutMs: STAGE_TIMEOUT_MS,
    onProgress: (pull) => progress(text, pull),
  });
}
