/** Without a host worker in its image, the machine would be lost. */

import { filesAfterBoot } from '../../adapters/host';
import { fail } from '../../core/errors';
import { lookWithinFiveMinutes, type LookingPorts } from '../retries';
import type { HostPorts } from '../ports';

/** A machine that has the worker elsewhere keeps it. */
const PARTS = [
  '/usr/lib/systemd/system/slipway-host.service',
  '/usr/lib/systemd/system/slipway-host-settle.service',
  '/usr/lib/slipway/slipway-host.cjs',
  '/usr/bin/slipway',
] as const;

/**
 * Discards a staged deployment without the worker.
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
