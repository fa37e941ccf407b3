/** The key of orders, before any process starts: hosts are installed with its public part. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FIELD_MANAGER, LABEL, NAMESPACE, ORDER_KEY_SECRET } from '../../core/names';
import { firstOrderKey, OrderSigningKey } from '../../workers/cluster/orders/stored-key';
import type { ApiClient } from '../cluster';

export interface InstalledOrderKeys {
  readonly text: string;
  readonly file: string;
}

/** As the first cluster worker makes it, which keeps this one. */
export async function installOrderKey(
  api: ApiClient,
  directory: string,
): Promise<InstalledOrderKeys> {
  const stored = firstOrderKey();
  const text = new OrderSigningKey(stored).published['keys.json'];
  const data = Object.entries({ ...stored, 'keys.json': text }).map(([field, value]) => [
    field,
    Buffer.from(value).toString('base64'),
  ]);
  const labels = { [LABEL.MANAGED_BY]: FIELD_MANAGER.CLUSTER_WORKER };
  await api.call('POST', `/api/v1/namespaces/${NAMESPACE}/secrets`, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: ORDER_KEY_SECRET, labels },
    data: Object.fromEntries(data) as object,
  });
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'order-keys.json');
  writeFileSync(file, text);
  return { text, file };
}
