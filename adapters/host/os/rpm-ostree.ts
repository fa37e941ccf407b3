/**
 * The driver of machines with rpm-ostree. Every command stages a locked deployment over the one
 * before. The order of the commands is MCO's; MCO has no lock.
 *
 * @see MCO pkg/daemon/update.go, applyOSChanges (7ff337a4)
 */

import { fail } from '../../../core/errors';
import type { OsStatus, StepContext } from './os-status';
import { onceIdle, untilFree, type Pause } from './busy-daemon';
import type { OsDriver } from './driver';
import { requireDigest } from './image-checks';
import { pullWith, type ImageGate } from './image-gate';
import { watchingLayers } from './layer-progress';
import type { RunProgram } from './program';
import { provideCredentials } from './registry-credentials';
import {
  extensionsCommand,
  imageKernelCommand,
  kernelArgumentsCommand,
  needsExtensionsImage,
  otherKernelCommand,
  rebaseCommand,
  refuseLeftArguments,
} from './rpm-ostree-commands';
import { bootedOf, makeDefault, newestOf, statusOf } from './rpm-ostree-deployments';
import { createExtensionsSource } from './rpm-ostree-extensions';
import {
  kernelTypeOf,
  readRpmOstreeStatus,
  readTransaction,
  type KernelType,
  type RpmOstreeDeployment,
} from './rpm-ostree-status';
import { createStagedLock } from './staged-lock';

const PROGRAM = 'rpm-ostree';

interface RpmOstreeParts {
  readonly run: RunProgram;
  readonly images: ImageGate;
  readonly root: string;
  readonly architecture: string;
  /** While the daemon is busy. */
  readonly pause?: Pause;
}

export function createRpmOstreeDriver(parts: RpmOstreeParts): OsDriver {
  const { images, root } = parts;
  const run = untilFree(parts.run, parts.pause);
  const lock = createStagedLock({ root, run });
  const extensions = createExtensionsSource({ root, run });

  const look = (): Promise<string> => run(PROGRAM, ['status', '--json']);
  const list = async (): Promise<readonly RpmOstreeDeployment[]> =>
    readRpmOstreeStatus(await look());
  const listOnceIdle = async (context: StepContext): Promise<readonly RpmOstreeDeployment[]> =>
    readRpmOstreeStatus(await onceIdle(look, readTransaction, context, parts.pause));

  const describe = (deployments: readonly RpmOstreeDeployment[]): Promise<OsStatus> =>
    statusOf(parts, deployments, (reported) => lock.isHeld(reported));

  async function stageBy(words: readonly string[], { signal, progress }: StepContext) {
    if (words.length === 0) return;
    if (words[0] !== 'rebase') progress(`${PROGRAM} ${words[0]}`);
    await run(PROGRAM, words, { signal, onWaiting: progress });
    await lockStaged();
  }

  /**
   * Some versions lose the lock when they stage over a staged deployment.
   *
   * @see https://github.com/coreos/rpm-ostree/pull/4939
   */
  async function lockStaged(): Promise<void> {
    const staged = (await list()).find((deployment) => deployment.staged);
    if (staged !== undefined && !(await lock.isHeld(staged.locked))) await lock.hold();
  }

  async function discard(): Promise<void> {
    if ((await list()).some(({ staged }) => staged)) await run(PROGRAM, ['cleanup', '--pending']);
    await lock.forget();
    await extensions.remove();
  }

  async function rebase(image: string, context: StepContext): Promise<void> {
    await provideCredentials(root);
    const prefix = (await images.usesSignedForm(image))
      ? 'ostree-image-signed:docker://'
      : 'ostree-unverified-registry:';
    const words = rebaseCommand(`${prefix}${image}`);
    const text = `${PROGRAM} rebase to ${image}`;
    await watchingLayers({ run, root, image, text }, context, () =>
      pullWith(images, image, context, () => stageBy(words, context)),
    );
  }

  async function stage(image: string, context: StepContext, extensionsImage?: string) {
    const digest = requireDigest(image);
    const before = await listOnceIdle(context);
    const [newest, booted] = [newestOf(before), bootedOf(before)];
    if (newest.digest === digest && hasSamePackages(newest, booted)) {
      await extensions.remove();
      return newest.staged ? lockStaged() : undefined;
    }
    await discard();
    if (booted.digest === digest) return;
    const source = needsExtensionsImage(booted) ? extensionsImage : undefined;
    await extensions.during(source, context, () => move(booted, image, context));
    const staged = newestOf(await list()).digest ?? 'no image';
    if (staged === digest) return;
    throw fail('OsCommandFailed', `${PROGRAM} rebase: ${staged} is staged, not ${digest}`);
  }

  /**
   * A replaced kernel fits only its own image: it is removed before and installed again afterwards.
   */
  async function move(booted: RpmOstreeDeployment, image: string, context: StepContext) {
    const kernel = kernelTypeOf(booted.packages);
    await stageBy(imageKernelCommand(booted), context);
    await rebase(image, context);
    if (kernel !== 'default') await stageBy(otherKernelCommand(kernel), context);
  }

  async function setKernelType(wanted: string, context: StepContext, extensionsImage?: string) {
    const type = knownKernelType(wanted, parts.architecture);
    const newest = newestOf(await listOnceIdle(context));
    if (kernelTypeOf(newest.packages) === type) return;
    const source = type === 'default' ? undefined : extensionsImage;
    await extensions.during(source, context, async () => {
      await stageBy(imageKernelCommand(newest), context);
      if (type !== 'default') await stageBy(otherKernelCommand(type), context);
    });
  }

  return {
    name: 'rpm-ostree',
    managesOs: true,
    lacks: {},
    status: async () => describe(await list()),
    checkImage: (image, context) => images.check(image, context),
    stage,
    async setKernelArguments(change, context) {
      const { booted, staged = booted } = await describe(await listOnceIdle(context));
      const [before, now] = [booted.kernelArguments, staged.kernelArguments];
      const words = kernelArgumentsCommand(change, before, now);
      if (words.length === 0) return;
      await stageBy(words, context);
      const { staged: after = booted } = await describe(await list());
      refuseLeftArguments(change, before, after.kernelArguments);
    },
    async setExtensions({ to, image }, context) {
      const command = extensionsCommand(to, newestOf(await listOnceIdle(context)).packages);
      if (command.length === 0) return;
      await extensions.during(image, context, () => stageBy(command, context));
      refuseMissing(to, newestOf(await list()));
    },
    setKernelType,
    async finalize() {
      if (!(await list()).some(({ staged }) => staged)) return;
      await lock.release();
    },
    discard,
    async rollback(deployment) {
      if ((await list()).some(({ staged }) => staged)) await discard();
      await makeDefault(run, list, deployment);
    },
    async cleanUp(deployment) {
      const deployments = await list();
      const found = deployments.find(({ id }) => id === deployment);
      if (found === undefined || found.booted) return;
      if (found.staged) return discard();
      const isPending = found.index < bootedOf(deployments).index;
      await run(PROGRAM, ['cleanup', isPending ? '--pending' : '--rollback']);
    },
  };
}

/**
 * A staged deployment that differs is from an interrupted move, or from later steps of an update,
 * which are repeated.
 */
function hasSamePackages(one: RpmOstreeDeployment, other: RpmOstreeDeployment): boolean {
  const textOf = ({ packages, removals }: RpmOstreeDeployment): string =>
    JSON.stringify([packages, removals]);
  return textOf(one) === textOf(other);
}

function knownKernelType(type: string, architecture: string): KernelType {
  if (type === '' || type === 'default') return 'default';
  if (type === 'realtime') return type;
  if (type !== '64k-pages') throw fail('Unreconcilable', `kernelType=${type} is invalid`);
  if (architecture === 'arm64') return type;
  throw fail(
    'Unreconcilable',
    `64k-pages is only supported for aarch64 architecture; this machine is ${architecture}`,
  );
}

function refuseMissing(wanted: readonly string[], deployment: RpmOstreeDeployment): void {
  const left = extensionsCommand(wanted, deployment.packages);
  if (left.length === 0) return;
  throw fail(
    'OsCommandFailed',
    `${PROGRAM} update succeeded, but ${deployment.id} still needs ${left.slice(2).join(' ')}`,
  );
}
