import { randomBytes } from 'node:crypto';
import { defaultPayloadConverter } from '@temporalio/common';
import { codecOfPerson } from '../../../cli/payload-keys';
import { firstPayloadKeys } from '../../../controllers/payload-keys';
import type { KubeObject } from '../../../adapters/kube/resources';
import { fail } from '../../../core/errors';

const LONG_AGO = new Date(Date.UTC(2026, 0, 1));
const PAYLOADS = [defaultPayloadConverter.toPayload('change freeze')];

type Get = () => Promise<KubeObject>;

function person(get: Get) {
  const told: string[] = [];
  const codec = codecOfPerson(
    () => Promise.resolve({ get: get as never }),
    (says) => told.push(says),
  );
  return { codec, told };
}

const denied: Get = () => Promise.reject(fail('ApiForbidden', 'no'));
const absent: Get = () => Promise.reject(fail('ObjectNotFound', 'none'));

it('who may read the Secret reads and writes what is encoded', async () => {
  const secret = firstPayloadKeys('slipway', LONG_AGO);
  const { codec } = person(() => Promise.resolve(secret));
  const { codec: other } = person(() => Promise.resolve(secret));

  const sealed = await codec.encode(PAYLOADS);

  expect(sealed).not.toEqual(PAYLOADS);
  expect(defaultPayloadConverter.fromPayload((await other.decode(sealed))[0] ?? {})).toBe(
    'change freeze',
  );
});

it('a key that was added meanwhile is found', async () => {
  let secret = firstPayloadKeys('slipway', LONG_AGO);
  const { codec } = person(() => Promise.resolve(secret));
  await codec.encode(PAYLOADS);

  const id = '20260601T000000Z';
  secret = { ...secret, data: { ...secret.data, [id]: randomBytes(32).toString('base64') } };
  const { codec: later } = person(() => Promise.resolve(secret));
  const sealed = await later.encode(PAYLOADS);

  expect(Buffer.from(sealed[0]?.metadata?.['encryption-key-id'] ?? []).toString()).toBe(id);
  expect(await codec.decode(sealed)).toHaveLength(1);
});

it('without the Secret, payloads stay readable', async () => {
  const { codec } = person(absent);

  expect(await codec.encode(PAYLOADS)).toEqual(PAYLOADS);
});

it('who may not read it sees nothing of it, is told so once, and sends nothing', async () => {
  const sealed = await person(() =>
    Promise.resolve(firstPayloadKeys('slipway', LONG_AGO)),
  ).codec.encode(PAYLOADS);
  const { codec, told } = person(denied);

  const seen = await codec.decode([...sealed, ...PAYLOADS]);
  await codec.decode(sealed);

  expect(seen.map((one) => defaultPayloadConverter.fromPayload(one))).toEqual([
    undefined,
    'change freeze',
  ]);
  expect(told).toEqual([
    'you may not read secret slipway/slipway-payload-keys, by which everything in Temporal is encoded; ask for the ClusterRole slipway-operate',
  ]);
  await expect(codec.encode(PAYLOADS)).rejects.toMatchObject({ name: 'CliError', exitCode: 4 });
});

it('nobody is asked for keys where nothing is encoded', async () => {
  const { codec } = person(() => Promise.reject(new Error('the API server is away')));

  expect(await codec.decode(PAYLOADS)).toEqual(PAYLOADS);
});
