import {
  defaultPayloadConverter,
  type Payload,
  type SerializationContext,
} from '@temporalio/common';
import { isSignedBy, type Shown } from '../../../../../core/orders';
import { signingCodec } from '../../../../../workers/cluster/orders/sign-orders';
import { OrderSigningKey } from '../../../../../workers/cluster/orders/stored-key';
import type { HostOrder } from '../../../../../workflows/contracts/host';
import { TEST_KEY } from '../../../../support/signed-orders';
import { aConfig, orderFor } from '../../../host/a-host';

const CONFIG = aConfig('rendered-worker-1');
const prepare = orderFor(CONFIG, 'prepareUpdate');
const CONTEXT: SerializationContext = {
  ...{ type: 'activity', namespace: 'slipway', isLocal: false },
  workflowId: 'update-node/worker-1',
};

let shown: Shown | Error;
let asked: string[];
let refused: string[];
let key: OrderSigningKey;
beforeEach(() => {
  shown = { generation: 7 };
  asked = [];
  refused = [];
  key = TEST_KEY;
});

const codec = signingCodec({
  signer: () => key,
  confirm: async ({ orderId }: HostOrder) => {
    asked.push(orderId);
    if (shown instanceof Error) throw shown;
    return shown;
  },
  onRefused: (_order, because) => refused.push(because),
});

async function passed(value: unknown, context: SerializationContext | undefined = CONTEXT) {
  const payload = defaultPayloadConverter.toPayload(value);
  const [encoded] = await codec.encode([payload], context);
  return defaultPayloadConverter.fromPayload<unknown>(encoded as Payload);
}

it('an order is signed with what the API server shows', async () => {
  const signed = (await passed({ order: prepare })) as Record<string, string>;

  const { order: text = '', signature = '', keyId = '' } = signed;
  expect(JSON.parse(text)).toEqual({ ...prepare, pool: { ...prepare.pool, generation: 7 } });
  expect(keyId).toBe(TEST_KEY.id);
  const publicKey = TEST_KEY.keys.keys[0]?.publicKey ?? '';
  expect(isSignedBy(publicKey, 'order', { text, signature, keyId })).toBe(true);
  expect(signed).not.toHaveProperty('statements');
});

it('only the order that introduces a config is compared with it', async () => {
  const apply = orderFor(CONFIG, 'applyUpdate');

  const { order: text } = (await passed({ order: apply })) as { readonly order: string };

  expect(JSON.parse(text)).toEqual(apply);
  expect(asked).toEqual([]);
});

it('an order that does not fit stays unsigned, and says why', async () => {
  shown = { differs: 'the target of pool worker is rendered-worker-2' };

  expect(await passed({ order: prepare })).toEqual({ order: prepare, ...shown });
  expect(refused).toEqual([shown.differs]);
});

it('nothing goes out while nobody can say whether it fits: the task of the workflow is repeated', async () => {
  shown = new Error('the API server is away');

  await expect(passed({ order: prepare })).rejects.toThrow('the API server is away');
});

it.each<[string, SerializationContext | undefined]>([
  ['no activity', { type: 'workflow', namespace: 'slipway', workflowId: 'update-node/worker-1' }],
  ['a local activity', { ...CONTEXT, isLocal: true }],
  ['the update of another node', { ...CONTEXT, workflowId: 'update-node/worker-2' }],
  ['another workflow', { ...CONTEXT, workflowId: 'pool-rollout/worker' }],
])('an order of %s stays unsigned', async (_what, context) => {
  expect(await passed({ order: prepare }, context)).toMatchObject({
    differs: expect.any(String) as string,
  });
});

it('an order of another workflow ID than its own stays unsigned', async () => {
  const order = { ...prepare, orderId: 'update-node/worker-2/run-1/prepareUpdate' };

  expect(await passed({ order })).toMatchObject({ differs: expect.any(String) as string });
});

it('a replay signs nothing and asks nobody', async () => {
  const replayed = { order: prepare, isReplayed: true };

  expect(await passed(replayed)).toEqual(replayed);
  expect(asked).toEqual([]);
});

it.each([
  [{ node: 'worker-1' }],
  ['{"order":{}}'],
  [undefined],
  [[{ order: prepare }]],
  [{ orders: 1 }],
])('what is no order passes as it is: %j', async (value) => {
  const payload = defaultPayloadConverter.toPayload(value);

  expect(await codec.encode([payload], CONTEXT)).toEqual([payload]);
  expect(await codec.decode([payload], CONTEXT)).toEqual([payload]);
});

it('after the key was rolled, an order brings what vouches for it', async () => {
  key = new OrderSigningKey(TEST_KEY.next(new Date()));

  expect(await passed({ order: prepare })).toMatchObject({
    keyId: key.id,
    statements: [{ keyId: TEST_KEY.id }],
  });
});
