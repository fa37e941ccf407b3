/**
 * The driver of machines with bootc. Packages and kernels belong into the image. The ostree backend
 * stages through ostree and its lock; composefs has its own lock, `--download-only`.
 *
 * @see https://bootc-dev.github.io/bootc/man/bootc-switch.8.html
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fail } from '../../../core/errors';
import type { OsStatus, StepContext } from './os-status';
import { nextOf, statusOf } from './bootc-deployments';
import { hasProgress, readProgressLine } from './bootc-progress';
import { readBootcStatus, type BootcEntry, type BootcStatus } from './bootc-status';
import type { ListChange, OsDriver } from './driver';
import { requireDigest } from './image-checks';
import { pullWith, type ImageGate } from './image-gate';
import { watchingLayers } from './layer-progress';
import type { ProgramOptions, RunProgram } from './program';
import { provideCredentials } from './registry-credentials';
import { kernelArgumentsCommand, refuseLeftArguments } from './rpm-ostree-commands';
import { createStagedLock } from './staged-lock';

const PROGRAM = 'bootc';
const NO_PACKAGES =
  'bootc layers no packages: build them into the image, or use rpm-ostree on this machine';
const NO_KERNEL = 'bootc does not swap the kernel: use an image with the kernel that is wanted';
const NO_KERNEL_ARGUMENTS =
  'bootc has no command for kernel arguments and rpm-ostree is not on this machine: put them into the image, /usr/lib/bootc/kargs.d';

interface BootcParts {
  readonly run: RunProgram;
  readonly images: ImageGate;
  readonly root: string;
}

export function createBootcDriver({ run, images, root }: BootcParts): OsDriver {
  const lock = createStagedLock({ root, run });
  // bootc and rpm-ostree share deployments, and may be used side by side.
  const hasRpmOstree = existsSync(join(root, 'usr/bin/rpm-ostree'));
  const read = async (): Promise<BootcStatus> =>
    readBootcStatus(await run(PROGRAM, ['status', '--json']));

  const status = async (): Promise<OsStatus> =>
    statusOf({ run, root, hasRpmOstree }, await read(), isLocked);

  const isLocked = async ({ backend, downloadOnly }: BootcEntry): Promise<boolean> =>
    backend === 'composefs' ? downloadOnly : lock.isHeld(downloadOnly);

  async function discard(): Promise<void> {
    const { staged } = await read();
    if (staged?.backend === 'ostree') {
      // bootc has no command to drop a staged deployment, which is always the first.
      if (hasRpmOstree) await run('rpm-ostree', ['cleanup', '--pending']);
      else await run('ostree', ['admin', 'undeploy', '0']);
    } else if (staged?.downloadOnly === false) {
      throw fail(
        'OsCommandFailed',
        `bootc cannot drop ${staged.id}, which is staged and not locked`,
      );
    }
    await lock.forget();
  }

  async function switchTo(image: string, { backend }: BootcEntry, context: StepContext) {
    await provideCredentials(root);
    const policy = (await images.usesSignedForm(image)) ? ['--enforce-container-sigpolicy'] : [];
    const held = backend === 'composefs' ? ['--download-only'] : [];
    const progress = hasProgress(await run(PROGRAM, ['--version']));
    const words = [...policy, ...held, ...(progress ? ['--progress-fd', '3'] : [])];
    const command = ['switch', ...words, '--transport', 'registry', image];
    const text = `bootc switch ${image}`;
    const options = { ...reporting(text, context, progress), signal: context.signal };
    const pull = (): Promise<string> => run(PROGRAM, command, options);
    if (progress) await pull();
    else await watchingLayers({ run, root, image, text }, context, pull);
  }

  async function stage(image: string, context: StepContext): Promise<void> {
    const digest = requireDigest(image);
    const before = await read();
    if ((before.staged ?? before.booted).digest === digest) return lockStaged(before);
    await discard();
    if (before.booted.digest === digest) return;
    // Nothing may be staged without the lock.
    if (before.booted.backend === 'ostree') await lock.prepare();
    try {
      await pullWith(images, image, context, () => switchTo(image, before.booted, context));
    } catch (error) {
      await lock.forget();
      throw error;
    }
    const after = await read();
    if (after.staged?.digest !== digest) {
      const found = after.staged?.digest ?? 'nothing';
      throw fail('OsCommandFailed', `bootc switch: ${found} is staged, not ${digest}`);
    }
    await lockStaged(after);
  }

  async function lockStaged({ staged }: BootcStatus): Promise<void> {
    if (staged === undefined || (await isLocked(staged))) return;
    if (staged.backend === 'ostree') return lock.hold();
    throw fail('OsCommandFailed', `bootc cannot lock ${staged.id}, which is staged already`);
  }

  async function rollback(deployment: string): Promise<void> {
    if ((await read()).staged !== undefined) await discard();
    const status = await read();
    if (nextOf(status).id === deployment) return;
    if (status.booted.id !== deployment && status.rollback?.id !== deployment) {
      throw fail('RollbackFailed', `boot deployment ${deployment}: it is not there`);
    }
    // A second `bootc rollback` swaps the two back.
    await run(PROGRAM, ['rollback']);
    if (nextOf(await read()).id === deployment) return;
    throw fail('RollbackFailed', `boot deployment ${deployment}: another one is still the default`);
  }

  async function cleanUp(deployment: string): Promise<void> {
    const { staged, rollback: previous, rollbackQueued } = await read();
    if (staged?.id === deployment) return discard();
    if (previous?.id !== deployment || previous.pinned || previous.backend !== 'ostree') return;
    const index = rollbackQueued ? 0 : staged === undefined ? 1 : 2;
    await run('ostree', ['admin', 'undeploy', String(index)]);
  }

  return {
    name: 'bootc',
    managesOs: true,
    lacks: {
      extensions: NO_PACKAGES,
      kernelType: NO_KERNEL,
      ...(hasRpmOstree ? {} : { kernelArguments: NO_KERNEL_ARGUMENTS }),
    },
    status,
    checkImage: (image, context) => images.check(image, context),
    stage,
    async setKernelArguments(change, { signal, progress }) {
      if (!hasRpmOstree) return refuseArguments(change);
      const { booted, staged = booted } = await status();
      const [before, now] = [booted.kernelArguments, staged.kernelArguments];
      const words = kernelArgumentsCommand(change, before, now);
      if (words.length === 0) return;
      progress('rpm-ostree kargs');
      await run('rpm-ostree', words, { signal });
      await lockStaged(await read());
      const { staged: after = booted } = await status();
      refuseLeftArguments(change, before, after.kernelArguments);
    },
    async setExtensions({ to }) {
      if (to.length > 0)
        throw fail('Unreconcilable', `extensions ${to.join(', ')}: ${NO_PACKAGES}`);
    },
    async setKernelType(type) {
      if (type !== '' && type !== 'default') {
        throw fail('Unreconcilable', `kernel type ${type}: ${NO_KERNEL}`);
      }
    },
    async finalize() {
      const { staged } = await read();
      if (staged === undefined || !(await isLocked(staged))) return;
      if (staged.backend === 'ostree') await lock.release();
      else await run(PROGRAM, ['switch', '--from-downloaded']);
    },
    discard,
    rollback,
    cleanUp,
  };
}

function reporting(text: string, { progress }: StepContext, has: boolean): ProgramOptions {
  if (!has) return {};
  return {
    onProgressLine: (line) => {
      const pull = readProgressLine(line);
      if (pull !== undefined) progress(text, pull);
    },
  };
}

function refuseArguments({ from, to }: ListChange): void {
  if (from.length + to.length === 0) return;
  throw fail('Unreconcilable', `set kernel arguments: ${NO_KERNEL_ARGUMENTS}`);
}
