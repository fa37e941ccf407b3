/** The host worker has a memory limit, and its plan must fit into a workflow's history. */

import { fail } from '../../core/errors';
import { MAX_CONTENT_BYTES, MAX_PATHS } from '../../core/machine-config';
import type { UpdatePlan } from '../../core/node/plan';
import type { HostConfig } from '../records/configs';

/** Temporal refuses payloads of more than 2 MiB without naming them. */
const MOST_PLAN_BYTES = 1.5 * 1024 * 1024;

/** @throws `ConfigTooLarge` before anything is unpacked */
export function refuseManyPaths({ reference, spec }: HostConfig): void {
  const units = spec.config.systemd?.units ?? [];
  const dropins = units.reduce((sum, { dropins: own }) => sum + (own?.length ?? 0), 0);
  const paths = (spec.config.storage?.files?.length ?? 0) + units.length + dropins;
  if (paths <= MAX_PATHS) return;
  throw fail(
    'ConfigTooLarge',
    `${reference.name} has ${paths} files, units and drop-ins, a host takes ${MAX_PATHS}; ` +
      'put them into the OS image',
    { config: reference.name },
  );
}

/**
 * @returns adds the bytes of one more path; throws `ConfigTooLarge` naming the path at the limit
 */
export function contentsLimit({
  reference: { name },
}: HostConfig): (path: string, bytes: number) => void {
  let total = 0;
  return (path, bytes) => {
    total += bytes;
    if (total <= MAX_CONTENT_BYTES) return;
    throw fail(
      'ConfigTooLarge',
      `${name}: its contents have ${total} bytes up to ${path}, a host takes ${MAX_CONTENT_BYTES}; ` +
        'put large files into the OS image, or have a unit fetch them',
      { config: name, path },
    );
  };
}

/** @throws `ConfigTooLarge` */
export function refuseLargePlan({ reference: { name } }: HostConfig, plan: UpdatePlan): void {
  const bytes = Buffer.byteLength(JSON.stringify(plan));
  if (bytes <= MOST_PLAN_BYTES) return;
  throw fail(
    'ConfigTooLarge',
    `${name} changes ${plan.changes.length} paths at once: their list has ${bytes} bytes, ` +
      `${MOST_PLAN_BYTES} fit into a history; change them in several steps`,
    { config: name },
  );
}
