import type { OrderKeys, SignedText } from '../../../../core/orders';
import { learnKeys } from '../../../../core/orders';
import { readOrder } from '../../../../host/orders/read-order';
import { firstOrderKey, OrderSigningKey } from '../../../../workers/cluster/orders/stored-key';
import type { HostOrder, HostStep } from '../../../../workflows/contracts/host';
import { signedOrder, TEST_KEY } from '../../../support/signed-orders';
import { aConfig, NODE, orderFor } from '../a-host';

const NOW = new Date('2030-01-01T00:10:00Z');
const DAY_MS = 24 * 3_600_000;
const CONFIG = aConfig('rendered-worker-1');
const apply = orderFor(CONFIG, 'applyUpdate');

let known: OrderKeys;
beforeEach(() => {
  known = TEST_KEY.keys;
});

const read = (given: unknown, step: HostStep = 'applyUpdate', now = NOW): Promise<HostOrder> =>
  readOrder(given, step, {
    node: NODE,
    now: () => now,
    keyring: {
      known: async () => known,
      learn: async (statements: readonly SignedText[]) => {
        known = learnKeys(known, statements, now);
        return known;
      },
    },
  });

const refused = (because: string | RegExp) => ({
  name: 'OrderRefused',
  message: expect.stringMatching(because) as string,
});

describe('an order that the cluster has signed', () => {
  it('is read from the exact text', async () => {
    expect(await read(signedOrder(apply))).toEqual(apply);
  });

  it.each(['verifyUpdate-3', 'verifyUpdate'])('is of the phase %s', async (phase) => {
    const order = orderFor(CONFIG, 'verifyUpdate', {
      orderId: `update-node/${NODE}/run-1/${phase}`,
    });

    expect(await read(signedOrder(order), 'verifyUpdate')).toEqual(order);
  });
});

describe('an order is refused', () => {
  const signed = signedOrder(apply);
  const thief = new OrderSigningKey(firstOrderKey());
  it.each<[string, unknown, RegExp]>([
    ['without a signature', { order: apply }, /applyUpdate on worker-1 is not signed/],
    ['as it was before orders were signed', apply, /is not signed/],
    ['when nothing came', undefined, /is not signed/],
    ['with the key of another cluster', signedOrder(apply, thief), /is signed with key/],
    [
      'with the name of a known key',
      { ...signedOrder(apply, thief), keyId: TEST_KEY.id },
      /has not made/,
    ],
    [
      'with another text',
      { ...signed, order: signed.order.replace('run-1', 'run-2') },
      /has not made/,
    ],
    ['with another signature', { ...signed, signature: signedOrder({}).signature }, /has not made/],
    [
      'when it is to do something else',
      signedOrder(orderFor(CONFIG, 'goBack')),
      /is to goBack, and came as applyUpdate/,
    ],
    [
      'when it is of no update',
      signedOrder({ ...apply, orderId: 'applyUpdate' }),
      /is of no update of worker-1/,
    ],
    [
      'when it is of the update of another node',
      signedOrder({ ...apply, orderId: 'update-node/worker-2/run-1/applyUpdate' }),
      /is of no update of worker-1/,
    ],
    [
      'when its phase is that of another step',
      signedOrder({ ...apply, orderId: `update-node/${NODE}/run-1/goBack` }),
      /is of no update/,
    ],
    [
      'when it is no order at all',
      signedOrder({ serial: 1 }),
      /has no readable orderId, step, node, issuedAt/,
    ],
  ])('%s', async (_what, given, because) => {
    await expect(read(given)).rejects.toMatchObject(refused(because));
  });

  it('when it does not fit what the API server shows, which is no failure of the node', async () => {
    const given = { order: apply, differs: 'the target of pool worker is rendered-worker-2' };

    await expect(read(given)).rejects.toMatchObject({
      name: 'OrderOutdated',
      message: 'the cluster worker did not sign it: the target of pool worker is rendered-worker-2',
    });
  });

  it('when the host has no keys', async () => {
    const missing = async (): Promise<never> => {
      throw new Error('/etc/slipway/order-keys.json cannot be read');
    };
    const reading = readOrder(signed, 'applyUpdate', {
      node: NODE,
      now: () => NOW,
      keyring: { known: missing, learn: missing },
    });

    await expect(reading).rejects.toMatchObject(
      refused('no order can be checked: /etc/slipway/order-keys.json cannot be read'),
    );
  });
});

describe('while the key is rolled', () => {
  const next = new OrderSigningKey(TEST_KEY.next(NOW));
  const later = (days: number) => new Date(NOW.getTime() + days * DAY_MS);

  it('orders of both keys are obeyed; the new one brings what vouches for it', async () => {
    expect(await read(signedOrder(apply, next))).toEqual(apply);
    expect(await read(signedOrder(apply))).toEqual(apply);
  });

  it('the old key ends after a week, by the time of the order and by the clock of the host', async () => {
    await read(signedOrder(apply, next));
    const issuedAt = later(8).toISOString();

    await expect(read(signedOrder({ ...apply, issuedAt }))).rejects.toMatchObject(
      refused(/is signed with key .*, which ended at/),
    );
    await expect(read(signedOrder(apply), 'applyUpdate', later(8))).rejects.toMatchObject(
      refused(/which ended at/),
    );
  });

  it('no clock of a host holds up a way back that was ordered in time', async () => {
    await read(signedOrder(apply, next));
    const back = orderFor(CONFIG, 'goBack');

    expect(await read(signedOrder(back), 'goBack', later(8))).toEqual(back);
  });
});
