/** Verifies the running image by digest, the kernel's command line, and the kubelet. */

import { fail } from '../../core/errors';
import type { RenderedSpec } from '../../core/machine-config/types';
import {
  hasArgument,
  kernelArgumentChanges,
  missingArguments,
  sameArguments,
  singleArguments,
  withoutArgumentValue,
} from '../../core/os';
import type { BeforeUpdate, HostPorts, OpenJournal, OsStatus } from '../ports';

const DIGEST = /@(sha256:[0-9a-f]{64})$/;

export function beforeUpdate({ bootId, booted }: OsStatus): BeforeUpdate {
  const { image, digest, kernelArguments, extensions, kernelType } = booted;
  return {
    bootId,
    ...(image === undefined ? {} : { image }),
    ...(digest === undefined ? {} : { digest }),
    kernelArguments,
    extensions,
    kernelType,
  };
}

/**
 * Independent of the driver.
 *
 * @param before - the previous config, whose arguments should be gone; absent: none
 * @throws `VerifyFailed` naming the digest or the argument
 */
export async function proveRunning(
  ports: Pick<HostPorts, 'os' | 'vitals'>,
  status: OsStatus,
  spec: RenderedSpec,
  before?: Pick<RenderedSpec, 'kernelArguments'>,
): Promise<void> {
  if (!ports.os.managesOs) return;
  const wanted = DIGEST.exec(spec.osImageURL)?.[1];
  const { digest } = status.booted;
  if (wanted !== undefined && digest !== undefined && digest !== wanted) {
    throw fail('VerifyFailed', `expected OS image digest ${wanted}, booted ${digest}`);
  }
  const words = await ports.vitals?.commandLine();
  if (words === undefined) return;
  refuseArguments('was not given', missingArguments(spec.kernelArguments, words));
  const { remove } = kernelArgumentChanges(before?.kernelArguments ?? [], spec.kernelArguments);
  // Arguments of the deployment itself come from an image or a person.
  const left = remove.filter(
    (word) => hasArgument(words, word) && !hasArgument(status.booted.kernelArguments, word),
  );
  refuseArguments('was still given', left);
}

/** @throws `VerifyFailed` when there are any */
function refuseArguments(what: string, words: readonly string[]): void {
  if (words.length === 0) return;
  const told = listed(words.map(withoutArgumentValue));
  throw fail('VerifyFailed', `the running kernel ${what}: ${told}`);
}

/**
 * If the update may have disturbed it: after a reboot, or a service action.
 *
 * @throws `VerifyFailed` with the last answer of the kubelet
 */
export async function proveKubelet(
  ports: Pick<HostPorts, 'vitals' | 'context'>,
  journal: OpenJournal | undefined,
): Promise<void> {
  if (ports.vitals === undefined || journal === undefined) return;
  const { plan } = journal.header;
  const disturbs = plan.actions.some(({ type }) => type !== 'None' && type !== 'Drain');
  if (!plan.reboot && !disturbs) return;
  await ports.vitals.kubeletHealthy(ports.context());
}

/** @throws `VerifyFailed` naming what differs */
export function proveAsBefore({ booted }: OsStatus, before: BeforeUpdate): void {
  const differences = [
    differing('OS image', before.image, booted.image),
    differing('OS image digest', before.digest, booted.digest),
    differing('kernel type', before.kernelType, booted.kernelType),
    differingArguments(before.kernelArguments, booted.kernelArguments),
    differing('extensions', listed(before.extensions), listed(booted.extensions)),
  ].filter((difference) => difference !== undefined);
  if (differences.length > 0) throw fail('VerifyFailed', differences.join('; '));
}

function differing(what: string, was?: string, is?: string): string | undefined {
  return was === is ? undefined : `${what} was ${was ?? 'unknown'}, is ${is ?? 'unknown'}`;
}

/** The boot loader changes these. */
const OF_THE_BOOT_LOADER = /^(ostree|BOOT_IMAGE)=/;

function differingArguments(was: readonly string[], is: readonly string[]): string | undefined {
  const [before, now] = [withoutLoader(was), withoutLoader(is)];
  if (sameArguments(before, now)) return undefined;
  const told = (words: readonly string[]): string =>
    listed(singleArguments(words).map(withoutArgumentValue));
  return `kernel arguments was ${told(before)}, is ${told(now)}`;
}

function withoutLoader(words: readonly string[]): readonly string[] {
  return words.filter((word) => !OF_THE_BOOT_LOADER.test(word));
}

function listed(words: readonly string[]): string {
  return `[${words.join(' ')}]`;
}
