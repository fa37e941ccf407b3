import { orderKeys } from '../../../../cli/doctor/order-keys';
import type { DoctorCluster } from '../../../../cli/doctor/ports';
import { firstOrderKey, OrderSigningKey } from '../../../../workers/cluster/orders/stored-key';
import { TEST_KEY } from '../../../support/signed-orders';

const NOW = new Date('2030-01-01T00:00:00Z');
const KEYS = TEST_KEY.published['keys.json'];
const ROLLED = new OrderSigningKey(TEST_KEY.next(NOW));
const OTHER = new OrderSigningKey(firstOrderKey()).published['keys.json'];

async function found(
  keys: string | undefined,
  settings?: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const cluster: Partial<DoctorCluster> = {
    orderKeys: () => Promise.resolve(keys),
    installerSettings: () => Promise.resolve(settings),
  };
  const findings = await orderKeys(cluster as DoctorCluster);
  return findings.map(({ level, object, says }) => `${level} ${object} ${says}`);
}

const OBJECT = 'configmap slipway/slipway-order-keys';
const INSTALLER = 'configmap slipway-installer/slipway-host-settings';

it('the key that signs is named, and the one that still counts', async () => {
  expect(await found(KEYS)).toEqual([
    `ok ${OBJECT} orders are signed with key ${TEST_KEY.id} (serial 1)`,
  ]);
  expect(await found(ROLLED.published['keys.json'])).toEqual([
    `ok ${OBJECT} orders are signed with key ${ROLLED.id}, ${TEST_KEY.id} until 2030-01-08T00:00:00.000Z (serial 2)`,
  ]);
});

it.each([
  ['no keys', undefined, `problem ${OBJECT} is not there, so no order is signed`],
  ['damaged keys', '{', expect.stringMatching(`problem ${OBJECT} cannot be read: is not JSON`)],
])('%s are a problem', async (_what, keys, finding) => {
  expect(await found(keys)).toEqual([finding]);
});

it.each([
  ['the present key', { 'order-keys.json': KEYS }, `ok ${INSTALLER} has keys of this cluster`],
  ['none', {}, `problem ${INSTALLER} has no order-keys.json: machines refuse every order`],
  [
    'another key',
    { 'order-keys.json': OTHER },
    `warning ${INSTALLER} has none of these keys: write the present ones into it`,
  ],
  [
    'what is none',
    { 'order-keys.json': '{}' },
    `problem ${INSTALLER} order-keys.json cannot be read: serial: is not a number`,
  ],
])('an installer that gives machines %s', async (_what, settings, finding) => {
  expect((await found(KEYS, settings))[1]).toBe(finding);
});
