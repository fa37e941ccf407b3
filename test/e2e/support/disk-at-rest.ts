/** Whether a host at rest is on the config that its Node and its own record name (I4). */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient } from '../../../tools/cluster';
import { differencesAmong } from './host-disk';
import { renderedConfigs, type RenderedConfigs } from './rendered-config';

/** The host's own record of its config, below its root. */
export const CURRENT_CONFIG_FILE = 'etc/machine-config-daemon/currentconfig';

/**
 * @param said - `currentConfig` of the Node
 * @returns everything that is not as the Node says; empty = byte for byte on that config
 */
export async function wrongOnDisk(
  configs: RenderedConfigs,
  said: string,
  root: string,
): Promise<readonly string[]> {
  const recorded = currentConfigOn(root);
  return [
    ...(recorded === said ? [] : [`the host names ${recorded}, its Node ${said}`]),
    ...(await differencesAmong(configs, said, root)),
  ];
}

function currentConfigOn(root: string): string {
  const text = readFileSync(join(root, CURRENT_CONFIG_FILE), 'utf8');
  return (JSON.parse(text) as { metadata: { name: string } }).metadata.name;
}
