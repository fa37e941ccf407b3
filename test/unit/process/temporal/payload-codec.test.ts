import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import {
  encodeErrorToFailure,
  loadDataConverter,
} from '@temporalio/common/lib/internal-non-workflow';
import { dataConverter, payloadCodec } from '../../../../process/temporal/payload-codec';
import { PayloadKey } from '../../../../process/temporal/payload-keys';

const SECRET = 'a password of a machine';
const NEW = '20261130T105148Z';
const OLD = '20251130T105148Z';

const keys = new Map([OLD, NEW].map((id) => [id, new PayloadKey(id, randomBytes(32))]));

/** The first one encodes. */
function ring(...ids: readonly string[]) {
  const known = ids.flatMap((id) => keys.get(id) ?? []);
  return payloadCodec({ current: () => known[0], all: () => known });
}

function payload(value: unknown): Payload {
  return defaultPayloadConverter.toPayload(value);
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return Buffer.from(bytes ?? []).toString();
}

/** Every text and all bytes in it. */
function texts(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (value instanceof Uint8Array) return [textOf(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(texts);
}

describe('an encoded payload', () => {
  it('shows its encoding and the ID of its key, and is read with that key', async () => {
    const values = [payload({ password: SECRET }), payload(null), payload('')];

    const sealed = await ring(NEW).encode(values);

    expect(texts(sealed).join()).not.toContain(SECRET);
    for (const { metadata } of sealed) {
      expect(textOf(metadata?.['encoding'])).toBe('binary/encrypted');
      expect(textOf(metadata?.['encryption-key-id'])).toBe(NEW);
    }
    const read = await ring(OLD, NEW).decode(sealed);
    expect(read.map((one) => defaultPayloadConverter.fromPayload(one))).toEqual([
      { password: SECRET },
      null,
      '',
    ]);
  });

  it('is another one each time', async () => {
    const [one, other] = await ring(NEW).encode([payload(SECRET), payload(SECRET)]);

    expect(one?.data).not.toEqual(other?.data);
  });

  it('is refused where its key is not known, by the name of the key and with what mends it', async () => {
    const sealed = await ring(NEW).encode([payload(SECRET)]);

    await expect(ring(OLD).decode(sealed)).rejects.toMatchObject({
      name: 'PayloadUnreadable',
      message: `a payload is encoded with the key "${NEW}", which is not known here: put ${NEW} back into the Secret slipway/slipway-payload-keys, from a backup`,
    });
  });

  it('is refused after any change, and with another key of this name', async () => {
    const codec = ring(NEW);
    const [sealed] = await codec.encode([payload(SECRET)]);
    const bytes = Buffer.from(sealed?.data ?? []);
    const changed = [...bytes.keys()].map((at) => {
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ 1;
      return copy;
    });
    const others = [...changed, Buffer.alloc(0), bytes.subarray(0, 20), bytes.subarray(0, -1)];

    for (const data of others) {
      await expect(codec.decode([{ ...sealed, data }])).rejects.toThrow(NEW);
    }
    const impostor = new PayloadKey(NEW, randomBytes(32));
    const stranger = payloadCodec({ current: () => impostor, all: () => [impostor] });
    await expect(stranger.decode([sealed ?? {}])).rejects.toThrow(/put 20261130T105148Z back/);
  });
});

describe('payloads of a change over', () => {
  it('are read when they are not encoded', async () => {
    const plain = [payload(SECRET), {}];

    expect(await ring(NEW).decode(plain)).toEqual(plain);
  });

  it('are left readable where there are no keys', async () => {
    const plain = [payload(SECRET)];

    expect(await ring().encode(plain)).toEqual(plain);
  });

  it('need no key where there is nothing to encode', async () => {
    const none = payloadCodec({
      current: () => Promise.reject(new Error('nobody may read it')),
      all: () => [],
    });

    expect(await none.encode([])).toEqual([]);
  });
});

it('a failure shows neither message, stack nor details, and neither do its causes', async () => {
  const converter = loadDataConverter(dataConverter(ring(NEW)));
  const error = new Error(`${SECRET} 1`, { cause: new Error(`${SECRET} 2`) });

  const failure = await encodeErrorToFailure(converter, error);

  expect(texts(failure).filter((text) => text.includes(SECRET))).toEqual([]);
  expect(failure).toMatchObject({ message: 'Encoded failure', stackTrace: '' });
  expect(failure.cause).toMatchObject({ message: 'Encoded failure', stackTrace: '' });
});
