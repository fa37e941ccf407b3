/**
 * An image must bring the host worker if the running one does: otherwise the machine would be lost.
 */

import { filesAfterBoot } from '../../adapters/host';
import { fail } from '../../core/errors';
import { lookWithinFiveMinutes, type LookingPorts } from '../retries';
import type { HostPorts } from '../ports';

/** Parts of the worker in an image; a machine that has it elsewhere keeps it. */
const PARTS = [
  '/usr/lib/systemd/system/slipway-host.service',
  '/usr/lib/systemd/system/slipway-host-settle.service',
  '/usr/lib/slipway/slipway-host.cjs',
  '/usr/bin/slipway',
] as const;

/**
 * Checks the tree of the staged deployment, and discards it when the worker is missing.
 *
 * @throws `ImageRefused` naming the missing part
 */
export async function refuseWithoutWorker(
  ports: LookingPorts & Pick<HostPorts, 'files' | 'node'>,
  image: string,
): Promise<void> {
  const { files, os, node } = ports;
  const { staged } = await lookWithinFiveMinutes(ports);
  const next = staged === undefined ? undefined : await filesAfterBoot(files, staged.id);
  if (next === undefined) return;
  for (const path of PARTS) {
    if ((await files.facts(path)).kind === 'absent') continue;
    if ((await next.facts(path)).kind !== 'absent') continue;
    await os.discard();
    throw fail(
      'ImageRefused',
      `${image} has no ${path}, which the running image of ${node} has: the machine would come up ` +
        'without its host worker; build the image with it',
      { image, path },
    );
  }
}
