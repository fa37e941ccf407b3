import { fail } from '../../../core/errors';
import type { Deployment, OsStatus } from './os-status';
import { readBootId } from './boot-id';
import { kernelOptions, readLoaderEntries, withoutDeployment } from './loader-entries';
import type { RunProgram } from './program';
import { extensionsOf, kernelTypeOf, type RpmOstreeDeployment } from './rpm-ostree-status';

const PROGRAM = 'rpm-ostree';

/** Adds kernel arguments, boot ID, and the real state of the lock. */
export async function statusOf(
  { run, root }: { readonly run: RunProgram; readonly root: string },
  deployments: readonly RpmOstreeDeployment[],
  isLocked: (reported: boolean) => Promise<boolean>,
): Promise<OsStatus> {
  const entries = await readLoaderEntries(root);
  const argumentsOf = async ({ id, index }: RpmOstreeDeployment) => {
    const entry = entries.find(({ deployment }) => deployment === id);
    if (entry !== undefined) return entry.kernelArguments;
    // This prints the future `options` of a staged deployment.
    const options = await run(PROGRAM, ['kargs', `--deploy-index=${index}`]);
    return withoutDeployment(kernelOptions(`options ${options.trim()}`));
  };
  const full = async (deployment: RpmOstreeDeployment): Promise<Deployment> => ({
    id: deployment.id,
    ...(deployment.image === undefined ? {} : { image: deployment.image }),
    ...(deployment.digest === undefined ? {} : { digest: deployment.digest }),
    kernelArguments: await argumentsOf(deployment),
    extensions: extensionsOf(deployment.packages),
    kernelType: kernelTypeOf(deployment.packages),
  });

  const booted = bootedOf(deployments);
  const staged = deployments.find((deployment) => deployment.staged);
  const rollback = rollbackOf(deployments);
  const pending = pendingOf(deployments);
  return {
    bootId: await readBootId(),
    booted: await full(booted),
    ...(staged === undefined
      ? {}
      : { staged: { ...(await full(staged)), locked: await isLocked(staged.locked) } }),
    ...(rollback === undefined ? {} : { rollback: await full(rollback) }),
    ...(pending === undefined ? {} : { pending: await full(pending) }),
  };
}

/** The next command changes the staged deployment, else the booted one. */
export function newestOf(deployments: readonly RpmOstreeDeployment[]): RpmOstreeDeployment {
  return deployments.find(({ staged }) => staged) ?? bootedOf(deployments);
}

/** @throws `OsCommandFailed` when none is booted */
export function bootedOf(deployments: readonly RpmOstreeDeployment[]): RpmOstreeDeployment {
  const booted = deployments.find((deployment) => deployment.booted);
  if (booted === undefined) throw fail('OsCommandFailed', `${PROGRAM}: nothing is booted`);
  return booted;
}

/** The first of the boot menu, unless it is staged or booted. */
function pendingOf(deployments: readonly RpmOstreeDeployment[]): RpmOstreeDeployment | undefined {
  const { index } = bootedOf(deployments);
  return deployments.find((other) => !other.staged && other.index < index);
}

/** While a rollback waits for its reboot, the rollback deployment is the first. */
function rollbackOf(deployments: readonly RpmOstreeDeployment[]): RpmOstreeDeployment | undefined {
  const others = deployments.filter(({ booted, staged }) => !booted && !staged);
  const { index } = bootedOf(deployments);
  return others.find((other) => other.index > index) ?? others[0];
}

/**
 * Nothing may be staged. `rpm-ostree rollback` takes no name: it moves the previous deployment to
 * the front, or the booted one back.
 *
 * @throws `RollbackFailed` naming the deployment
 */
export async function makeDefault(
  run: RunProgram,
  list: () => Promise<readonly RpmOstreeDeployment[]>,
  id: string,
): Promise<void> {
  const place = async (): Promise<number> => {
    const found = (await list()).find((deployment) => deployment.id === id);
    if (found !== undefined) return found.index;
    throw fail('RollbackFailed', `boot deployment ${id}: it is not there`);
  };
  if ((await place()) === 0) return;
  await run(PROGRAM, ['rollback']);
  const index = await place();
  if (index === 0) return;
  await run('ostree', ['admin', 'set-default', String(index)]);
  if ((await place()) === 0) return;
  throw fail('RollbackFailed', `boot deployment ${id}: another one is still the default`);
}
