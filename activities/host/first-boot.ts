/** The first config of a machine, written by the same code as every later one. */

import type { HostOrder } from '../../workflows/activity-contracts';
import { applyUpdate } from './apply';
import { commitUpdate } from './finish';
import type { HostPorts } from './ports';
import { type HostConfig, keepConfig, readUnordered } from './records';

/**
 * Writes a config to a machine that has none and makes it the current one. `install` gives the
 * machine its operating system before: image, kernel arguments, extensions.
 *
 * @param bytes - canonical bytes of the config, as the server answers them
 */
export async function installFirstConfig(
  ports: HostPorts,
  name: string,
  bytes: Buffer,
  install: (config: HostConfig) => Promise<void>,
): Promise<HostConfig> {
  const config = readUnordered(bytes, name);
  await keepConfig(ports.files, 'desired', config);
  await install(config);
  const order: HostOrder = {
    orderId: `first-boot/${name}`,
    node: ports.node,
    config: config.reference,
    disruptionPolicies: {},
    notAfter: ports.now().toISOString(),
  };
  await applyUpdate(ports, order);
  await commitUpdate(ports, order);
  return config;
}
