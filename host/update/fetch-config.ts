/** Stored configs first, then from the server. */

import type { ConfigReference, UpdateOrder } from '../../workflows/contracts/host';
import type { HostPorts } from '../ports';
import {
  type HostConfig,
  keepConfig,
  readCanonical,
  readCurrentConfig,
  readKeptConfig,
} from '../records/configs';

/** Fetched at most once per update. */
export async function desiredConfig(
  ports: HostPorts,
  { config }: Pick<UpdateOrder, 'config'>,
): Promise<HostConfig> {
  return keptOrFetched(ports, 'desired', config);
}

/** Its own record, else the one that the Node names; undefined when it never had one. */
export async function currentConfig(
  ports: HostPorts,
  order: UpdateOrder,
): Promise<HostConfig | undefined> {
  const recorded = await readCurrentConfig(ports.files);
  if (recorded !== undefined || order.currentConfig === undefined) return recorded;
  return keptOrFetched(ports, 'previous', order.currentConfig);
}

async function keptOrFetched(
  ports: HostPorts,
  role: 'desired' | 'previous',
  reference: ConfigReference,
): Promise<HostConfig> {
  const kept = await readKeptConfig(ports.files, reference);
  if (kept !== undefined) return kept;
  const { signal, progress } = ports.context();
  progress(`fetching ${reference.name}`);
  const config = readCanonical(await ports.configs.fetch(reference.name, signal), reference);
  await keepConfig(ports.files, role, config);
  return config;
}
