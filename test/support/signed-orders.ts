/** Orders as the cluster worker hands them to hosts, with a key of the tests. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { firstOrderKey, OrderSigningKey } from '../../workers/cluster/orders/stored-key';

export const TEST_KEY = new OrderSigningKey(firstOrderKey());

/** What a host gets. */
export interface SignedOrder {
  readonly order: string;
  readonly signature: string;
  readonly keyId: string;
}

export function signedOrder(order: object, key = TEST_KEY): SignedOrder {
  const { text, ...signed } = key.sign(JSON.stringify(order));
  const { statements } = key;
  return { order: text, ...signed, ...(statements.length === 0 ? {} : { statements }) };
}

/** @returns the file that hosts are installed with */
export function pinKeys(directory: string, key = TEST_KEY): string {
  const file = join(directory, 'order-keys.json');
  writeFileSync(file, key.published['keys.json']);
  return file;
}
