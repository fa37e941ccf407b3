/** The key of orders, on a real API server with the rights of deploy/rbac. */

import { connectKube } from '../../../adapters/kube/client';
import { CONFIG_MAPS, SECRETS } from '../../../adapters/kube/resources';
import { learnKeys } from '../../../core/orders';
import {
  ANNOTATION,
  NAMESPACE,
  ORDER_KEY_SECRET,
  ORDER_KEYS_CONFIG_MAP,
} from '../../../core/names';
import { createLogger } from '../../../process/logging';
import { OrderKeyKeeper } from '../../../workers/cluster/orders/order-key-keeper';
import { firstOrderKey, OrderSigningKey } from '../../../workers/cluster/orders/stored-key';
import { eventually, startKubeFixture, type KubeFixture } from '../kube/fixture';

jest.setTimeout(240_000);

const SECRET = { namespace: NAMESPACE, name: ORDER_KEY_SECRET };
const PUBLISHED = { namespace: NAMESPACE, name: ORDER_KEYS_CONFIG_MAP };

let fixture: KubeFixture;
let stopping: AbortController;
let endings: Promise<void>[];
beforeAll(async () => {
  fixture = await startKubeFixture();
});
afterAll(() => fixture?.stop());

beforeEach(() => {
  stopping = new AbortController();
  endings = [];
});
afterEach(async () => {
  stopping.abort();
  await Promise.all(endings);
  await fixture.admin.delete(SECRETS, SECRET);
  await fixture.admin.delete(CONFIG_MAPS, PUBLISHED);
});

async function aWorker(): Promise<OrderKeyKeeper> {
  const log = createLogger({ process: 'test', level: 'silent' });
  const keeper = new OrderKeyKeeper({ kube: fixture.worker, namespace: NAMESPACE, log });
  const { ended } = await keeper.start(stopping.signal);
  endings.push(ended);
  return keeper;
}

const published = async () => (await fixture.admin.get(CONFIG_MAPS, PUBLISHED)).data ?? {};
const askForAnother = () =>
  fixture.admin.patch(SECRETS, SECRET, {
    metadata: { annotations: { [ANNOTATION.RENEW]: 'now' } },
  });

it('is made once, however many workers start, and published without its private part', async () => {
  const workers = await Promise.all([aWorker(), aWorker(), aWorker()]);

  const [first] = workers;
  expect(new Set(workers.map(({ key }) => key.id))).toEqual(new Set([first?.key.id]));
  expect(await published()).toEqual(first?.key.published);
});

it('is rolled when a person asks for it: all workers sign with the next one, and hosts can follow', async () => {
  const workers = await Promise.all([aWorker(), aWorker()]);
  const before = workers[0]?.key.keys;
  if (before === undefined) throw new Error('no worker');

  await askForAnother();

  await eventually(() => {
    const ids = workers.map(({ key }) => key.id);
    expect(ids[0]).not.toBe(before.keys[0]?.id);
    expect(ids[1]).toBe(ids[0]);
  });
  const now = workers[0]?.key;
  expect(now?.keys.serial).toBe(before.serial + 1);
  expect(learnKeys(before, now?.statements ?? [], new Date())).toEqual(now?.keys);
  await eventually(async () => expect(await published()).toEqual(now?.published));
  const { metadata } = await fixture.admin.get(SECRETS, SECRET);
  expect(metadata.annotations).toBeUndefined();
});

it('of a person is used, and left to the person', async () => {
  const stored = firstOrderKey();
  const data = { 'key.pem': Buffer.from(stored['key.pem']).toString('base64') };
  await fixture.admin.create(SECRETS, { metadata: SECRET, data });
  const worker = await aWorker();
  await askForAnother();
  await worker.keep();

  expect(worker.key.id).toBe(new OrderSigningKey(stored).id);
  const { metadata } = await fixture.admin.get(SECRETS, SECRET);
  expect(metadata.annotations).toHaveProperty([ANNOTATION.RENEW]);
});

it('that a person has put in its place is used at once', async () => {
  const worker = await aWorker();
  const stored = firstOrderKey();
  const { id, published: fields } = new OrderSigningKey(stored);
  const data = Object.fromEntries(
    Object.entries({ ...stored, ...fields }).map(([field, text]) => [
      field,
      Buffer.from(text).toString('base64'),
    ]),
  );
  await fixture.admin.patch(SECRETS, SECRET, { data });

  await eventually(() => expect(worker.key.id).toBe(id));
});

it.each(['slipway-controllers', 'slipway-server'])('is nothing that %s may read', async (name) => {
  await aWorker();
  const kube = await connectKube({
    kubeconfig: await fixture.cluster.kubeconfigFor({ commonName: name }),
    userAgent: 'slipway-tests',
    log: fixture.log,
  });
  try {
    const refused = { name: 'ApiForbidden' };
    await expect(kube.get(SECRETS, SECRET)).rejects.toMatchObject(refused);
    await expect(kube.list(SECRETS, { namespace: NAMESPACE })).rejects.toMatchObject(refused);
    expect((await kube.get(CONFIG_MAPS, PUBLISHED)).data).toHaveProperty(['keys.json']);
  } finally {
    kube.close();
  }
});
