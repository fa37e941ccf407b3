/** The keys of payloads, before any process starts: their Secret, and a directory as it is mounted. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PayloadCodec } from '@temporalio/common';
import { firstPayloadKeys } from '../../controllers/payload-keys';
import { NAMESPACE } from '../../core/names';
import { payloadCodec } from '../../process/temporal/payload-codec';
import { PayloadKeyFiles } from '../../process/temporal/payload-keys';
import type { ApiClient } from '../cluster';

export interface InstalledPayloadKeys {
  readonly directory: string;
  readonly codec: PayloadCodec;
}

/** As the controllers make them, which keep these. */
export async function installPayloadKeys(
  api: ApiClient,
  directory: string,
): Promise<InstalledPayloadKeys> {
  const secret = firstPayloadKeys(NAMESPACE, new Date());
  await api.call('POST', `/api/v1/namespaces/${NAMESPACE}/secrets`, {
    ...{ apiVersion: 'v1', kind: 'Secret' },
    ...secret,
  });
  const mounted = join(directory, 'payload-keys');
  mkdirSync(mounted, { recursive: true });
  for (const [id, text] of Object.entries(secret.data ?? {})) {
    writeFileSync(join(mounted, id), Buffer.from(text, 'base64'), { mode: 0o600 });
  }
  const log = { warn: () => undefined };
  return { directory: mounted, codec: payloadCodec(new PayloadKeyFiles(mounted, { log })) };
}
