/** The keys of payloads as a person may read them: their Secret, when a command first needs them. */

import type { Payload, PayloadCodec } from '@temporalio/common';
import type { KubeClient } from '../adapters/kube/client';
import { SECRETS } from '../adapters/kube/resources';
import { failureName } from '../core/errors';
import { NAMESPACE, PAYLOAD_KEYS_SECRET } from '../core/names';
import { isSealed, payloadCodec } from '../process/temporal/payload-codec';
import {
  currentOf,
  type PayloadKey,
  type PayloadKeys,
  payloadKeysOf,
} from '../process/temporal/payload-keys';
import { cliError, EXIT } from './exit-codes';

type Keys = readonly [PayloadKey, ...PayloadKey[]] | undefined;

class StoredPayloadKeys implements PayloadKeys {
  #keys: Promise<Keys> | undefined;

  constructor(private readonly kube: () => Promise<Pick<KubeClient, 'get'>>) {}

  async current(): Promise<PayloadKey | undefined> {
    const keys = await this.#read();
    return keys && currentOf(keys, Date.now());
  }

  async all(isUnknown = false): Promise<readonly PayloadKey[]> {
    if (isUnknown) this.#keys = undefined;
    return (await this.#read()) ?? [];
  }

  #read(): Promise<Keys> {
    return (this.#keys ??= this.kube().then(readKeys));
  }
}

async function readKeys(kube: Pick<KubeClient, 'get'>): Promise<Keys> {
  try {
    const { data = {} } = await kube.get(SECRETS, {
      namespace: NAMESPACE,
      name: PAYLOAD_KEYS_SECRET,
    });
    const entries = Object.entries(data);
    return payloadKeysOf(entries.map(([id, text]) => [id, Buffer.from(text, 'base64')] as const));
  } catch (error) {
    const name = failureName(error);
    if (name === 'ObjectNotFound') return undefined;
    throw name === 'ApiForbidden' ? Object.assign(cliError(EXIT.FAILED, DENIED), DENIAL) : error;
  }
}

const DENIAL = { isDenial: true } as const;
const DENIED =
  `you may not read secret ${NAMESPACE}/${PAYLOAD_KEYS_SECRET}, by which everything in Temporal is encoded; ` +
  'ask for the ClusterRole slipway-operate';

/**
 * What a person may not read is nothing to them, so that all else is shown; they send nothing.
 *
 * @param denied - told once
 */
export function codecOfPerson(
  kube: () => Promise<Pick<KubeClient, 'get'>>,
  denied: (says: string) => void,
): PayloadCodec {
  const codec = payloadCodec(new StoredPayloadKeys(kube));
  let isTold = false;
  return {
    encode: (payloads) => codec.encode(payloads),
    async decode(payloads) {
      if (!payloads.some(isSealed)) return payloads;
      try {
        return await codec.decode(payloads);
      } catch (error) {
        if (!(error instanceof Error && 'isDenial' in error)) throw error;
        if (!isTold) denied(error.message);
        isTold = true;
        return payloads.map((payload) => (isSealed(payload) ? NOTHING : payload));
      }
    },
  };
}

const NOTHING: Payload = { metadata: { encoding: Buffer.from('binary/null') } };
