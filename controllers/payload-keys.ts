/** The Secret with the keys of payloads. It is made once; a person adds and drops keys (docs/security.md). */

import { randomBytes } from 'node:crypto';
import type { KubeClient } from '../adapters/kube/client';
import { SECRETS, type Secret } from '../adapters/kube/resources';
import { unlessAbsent } from '../adapters/kube/unless-absent';
import { OWN_LABELS } from '../core/certificates';
import { FIELD_MANAGER, PAYLOAD_KEYS_SECRET } from '../core/names';
import type { Logger } from '../process/logging';
import { KEY_BYTES, payloadKeyId } from '../process/temporal/payload-keys';
import { untilAvailable } from '../process/until-available';

interface Making {
  readonly kube: Pick<KubeClient, 'get' | 'create'>;
  readonly namespace: string;
  readonly log: Logger;
}

/** Until the Secret is there, or the signal aborts. */
export async function makePayloadKeys(making: Making, signal: AbortSignal): Promise<void> {
  const { namespace, log } = making;
  const what = `secret ${namespace}/${PAYLOAD_KEYS_SECRET}, the keys of payloads`;
  const attempt = () => makeUnlessThere(making);
  // It fails only when the signal aborts.
  await untilAvailable(what, attempt, { log, signal }).catch(() => undefined);
}

async function makeUnlessThere({ kube, namespace, log }: Making): Promise<void> {
  const key = { namespace, name: PAYLOAD_KEYS_SECRET };
  if ((await unlessAbsent(kube.get(SECRETS, key))) !== undefined) return;
  const secret = firstPayloadKeys(namespace, new Date());
  await kube.create(SECRETS, secret, { fieldManager: FIELD_MANAGER.CONTROLLERS });
  log.info({ keyIds: Object.keys(secret.data ?? {}) }, 'made the keys of payloads');
}

/** As it is made for a new cluster. */
export function firstPayloadKeys(namespace: string, now: Date): Secret {
  return {
    metadata: { name: PAYLOAD_KEYS_SECRET, namespace, labels: OWN_LABELS },
    type: 'Opaque',
    data: { [payloadKeyId(now)]: randomBytes(KEY_BYTES).toString('base64') },
  };
}
