/**
 * Nothing that enters Temporal is readable there but names: AES-256-GCM over each payload, with the ID of
 * its key in the metadata. What is not encoded is read as it is, so that a cluster can change over.
 */

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { fail } from '../../core/errors';
import { NAMESPACE, PAYLOAD_KEYS_SECRET } from '../../core/names';
import type { PayloadKey, PayloadKeys } from './payload-keys';

const message = temporal.api.common.v1.Payload;

/** By which Temporal's own tools know such a payload, too. */
const ENCODING = 'binary/encrypted';
const KEY_ID = 'encryption-key-id';
const PURPOSE = 'slipway payload';
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The bundle of the workflows has it built in, with a codec and without. */
export const FAILURE_CONVERTER = require.resolve('../../workflows/failure-converter');

/** For clients and workers. @param codec - absent = payloads and failures are readable */
export function dataConverter(codec: PayloadCodec | undefined): DataConverter {
  if (codec === undefined) return {};
  return { failureConverterPath: FAILURE_CONVERTER, payloadCodecs: [codec] };
}

/** @throws `PayloadUnreadable` in `decode` */
export function payloadCodec(keys: PayloadKeys): PayloadCodec {
  return {
    async encode(payloads) {
      if (payloads.length === 0) return payloads;
      const key = await keys.current();
      return key === undefined ? payloads : payloads.map((payload) => sealed(payload, key));
    },
    decode: (payloads) =>
      Promise.all(
        payloads.map(async (payload) => {
          if (!isSealed(payload)) return payload;
          const id = textIn(payload, KEY_ID);
          return opened(payload, await keyOf(id, keys));
        }),
      ),
  };
}

export function isSealed(payload: Payload): boolean {
  return textIn(payload, 'encoding') === ENCODING;
}

/** Nonce (12 bytes), tag (16), ciphertext of the message `Payload`. */
function sealed(payload: Payload, key: PayloadKey): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key.for(PURPOSE), nonce);
  const text = [cipher.update(message.encode(payload).finish()), cipher.final()];
  return {
    metadata: { encoding: Buffer.from(ENCODING), [KEY_ID]: Buffer.from(key.id) },
    data: Buffer.concat([nonce, cipher.getAuthTag(), ...text]),
  };
}

function opened({ data }: Payload, key: PayloadKey): Payload {
  const bytes = Buffer.from(data ?? []);
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  try {
    const cipher = createDecipheriv(CIPHER, key.for(PURPOSE), nonce, { authTagLength: TAG_BYTES });
    cipher.setAuthTag(tag);
    const text = cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
    return message.decode(Buffer.concat([text, cipher.final()]));
  } catch {
    // What the library says helps nobody.
    throw fail(
      'PayloadUnreadable',
      `a payload was not encoded with the key ${key.id} that is known here, or was changed: ${mend(key.id)}`,
      { keyId: key.id },
    );
  }
}

async function keyOf(id: string, keys: PayloadKeys): Promise<PayloadKey> {
  const isIt = (key: PayloadKey): boolean => key.id === id;
  const found = (await keys.all()).find(isIt) ?? (await keys.all(true)).find(isIt);
  if (found !== undefined) return found;
  const says = `a payload is encoded with the key ${JSON.stringify(id)}, which is not known here`;
  throw fail('PayloadUnreadable', `${says}: ${mend(id)}`, { keyId: id });
}

function mend(id: string): string {
  return `put ${id} back into the Secret ${NAMESPACE}/${PAYLOAD_KEYS_SECRET}, from a backup`;
}

function textIn({ metadata }: Payload, field: string): string {
  const value = metadata?.[field];
  return value == null ? '' : Buffer.from(value).toString();
}
