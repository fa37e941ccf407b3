/**
 * Every command that makes a deployment has `--lock-finalization` (2020.4), so the lock exists
 * before the deployment.
 */

import { fail } from '../../../core/errors';
import {
  extensionPackageChanges,
  hasArgument,
  kernelArgumentChanges,
  rpmOstreeKernelArguments,
  rpmOstreePackageArguments,
  sameArguments,
  spelledAs,
  splitKernelArguments,
  withoutArguments,
  withoutArgumentValue,
} from '../../../core/os';
import type { ListChange } from './driver';
import { kernelTypeOf, type KernelType, type RpmOstreeDeployment } from './rpm-ostree-status';

const LOCKED = '--lock-finalization';

/** The kernel of the image, as packages. @see MCO pkg/daemon/update.go (7ff337a4) */
const IMAGE_KERNEL = [
  'kernel',
  'kernel-core',
  'kernel-modules',
  'kernel-modules-core',
  'kernel-modules-extra',
] as const;

/**
 * Packages that replace the image's kernel.
 * @see MCO pkg/daemon/update.go, switchKernel (7ff337a4)
 */
const OTHER_KERNELS: Readonly<Record<Exclude<KernelType, 'default'>, readonly string[]>> = {
  realtime: ['kernel-rt-core', 'kernel-rt-modules', 'kernel-rt-modules-extra'],
  '64k-pages': [
    'kernel-64k-core',
    'kernel-64k-modules',
    'kernel-64k-modules-core',
    'kernel-64k-modules-extra',
  ],
};

/** Versions before 2022.16 need `--experimental` for images; later ones ignore it. */
export function rebaseCommand(reference: string): readonly string[] {
  return ['rebase', '--experimental', LOCKED, reference];
}

/**
 * Empty = nothing to run. Starts from the booted arguments, so that a repetition changes nothing. A
 * removed argument is spelled as in the deployment, because rpm-ostree compares text.
 *
 * @param booted - the arguments in force
 * @param newest - those of the deployment that the command changes
 */
export function kernelArgumentsCommand(
  { from, to }: ListChange,
  booted: readonly string[],
  newest: readonly string[],
): readonly string[] {
  const wanted = argumentsAfter({ from, to }, booted);
  if (sameArguments(newest, wanted)) return [];
  const changes = sameArguments(newest, booted)
    ? rpmOstreeKernelArguments(spelledAs(from, newest), to)
    : rpmOstreeKernelArguments(newest, wanted);
  return ['kargs', LOCKED, ...changes];
}

/**
 * ostree before 2024.5 splits an argument with blanks, and does not find it later.
 *
 * @param booted - the arguments in force
 * @param after - those of the changed deployment
 * @throws `OsCommandFailed` naming the arguments that were not removed
 */
export function refuseLeftArguments(
  { from, to }: ListChange,
  booted: readonly string[],
  after: readonly string[],
): void {
  const tooMany = withoutArguments(after, argumentsAfter({ from, to }, booted));
  const { remove } = kernelArgumentChanges(from, to);
  const left = remove.filter((argument) => hasArgument(tooMany, argument));
  if (left.length === 0) return;
  const told = left.map(withoutArgumentValue).join(' ');
  throw fail(
    'OsCommandFailed',
    `rpm-ostree kargs succeeded, but the staged deployment still has ${told}; if it has blanks, bring an OS image with ostree 2024.5 or later first, and drop it after that`,
  );
}

function argumentsAfter({ from, to }: ListChange, booted: readonly string[]): readonly string[] {
  return [...withoutArguments(booted, splitKernelArguments(from)), ...splitKernelArguments(to)];
}

/**
 * Empty = nothing to run.
 *
 * @param packages - the layered packages of the deployment that is changed
 */
export function extensionsCommand(
  extensions: readonly string[],
  packages: readonly string[],
): readonly string[] {
  const changes = rpmOstreePackageArguments(extensionPackageChanges(extensions, packages));
  return changes.length === 0 ? [] : ['update', LOCKED, ...changes];
}

/** Empty = nothing to run. Names only packages that the deployment lists. */
export function imageKernelCommand({
  packages,
  removals,
}: Pick<RpmOstreeDeployment, 'packages' | 'removals'>): readonly string[] {
  const others = Object.values(OTHER_KERNELS).flat();
  const reset = IMAGE_KERNEL.filter((name) => removals.includes(name));
  const uninstall = others.filter((name) => packages.includes(name));
  if (uninstall.length === 0 && reset.length === 0) return [];
  const uninstalls = uninstall.flatMap((name) => ['--uninstall', name]);
  // `override reset` needs a package; without one, only layered packages must go.
  if (reset.length === 0) return ['update', LOCKED, ...uninstalls];
  return ['override', 'reset', LOCKED, ...reset, ...uninstalls];
}

export function otherKernelCommand(type: Exclude<KernelType, 'default'>): readonly string[] {
  const installs = OTHER_KERNELS[type].flatMap((name) => ['--install', name]);
  return ['override', 'remove', LOCKED, ...IMAGE_KERNEL, ...installs];
}

export function needsExtensionsImage({ packages }: Pick<RpmOstreeDeployment, 'packages'>): boolean {
  return (
    kernelTypeOf(packages) !== 'default' ||
    extensionPackageChanges([], packages).uninstall.length > 0
  );
}
