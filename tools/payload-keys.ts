/** The keys of payloads, before any process starts: their Secret, and a directory as it is mounted. */

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PayloadCodec } from '@temporalio/common';
import { firstPayloadKeys } from '../controllers/payload-keys';
import { NAMESPACE } from '../core/names';
import { payloadCodec } from '../process/temporal/payload-codec';
import { PayloadKeyFiles } from '../process/temporal/payload-keys';
import type { ApiClient } from './cluster';

export interface InstalledPayloadKeys {
  readonly directory: string;
  readonly codec: PayloadCodec;
  /** As the controllers make it, which keep this one. */
  storeIn(api: ApiClient): Promise<void>;
}

/** @param parent - gets a directory for them, and for no others: clusters in turn may have the same parent */
export function newPayloadKeys(parent: string): InstalledPayloadKeys {
  const secret = firstPayloadKeys(NAMESPACE, new Date());
  mkdirSync(parent, { recursive: true });
  const directory = mkdtempSync(join(parent, 'payload-keys-'));
  for (const [id, text] of Object.entries(secret.data ?? {})) {
    writeFileSync(join(directory, id), Buffer.from(text, 'base64'), { mode: 0o600 });
  }
  return {
    directory,
    codec: payloadCodec(new PayloadKeyFiles(directory, { log: { warn: () => undefined } })),
    async storeIn(api) {
      const object = { apiVersion: 'v1', kind: 'Secret', ...secret };
      await api.call('POST', `/api/v1/namespaces/${NAMESPACE}/secrets`, object);
    },
  };
}
