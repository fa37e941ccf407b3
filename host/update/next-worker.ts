/** An image has to bring the host worker where the running one does: nobody would hear of the machine again. */

import { filesAfterBoot } from '../../adapters/host';
import { fail } from '../../core/errors';
import { lookWithinFiveMinutes, type LookingPorts } from '../retries';
import type { HostPorts } from '../ports';

/** What images have of it that bring it; machines that have it elsewhere keep it whatever boots. */
const PARTS = [
  '/usr/lib/systemd/system/slipway-host.service',
  '/usr/lib/systemd/system/slipway-host-settle.service',
  '/usr/lib/slipway/slipway-host.cjs',
  '/usr/bin/slipway',
] as const;

/**
 * Looks into the tree of what is staged, and drops it when the machine could not be managed from it.
 *
 * @throws `ImageRefused` naming what is missing
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
