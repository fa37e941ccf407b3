/** A frozen process resumes with a write to a pool that a person has changed meanwhile. */

import type { ClusterCaches } from '../../../adapters/kube/cluster-caches';
import { MACHINE_CONFIG_POOLS } from '../../../adapters/kube/resources';
import { ANNOTATION } from '../../../core/names';
import type { MachineConfigPool } from '../../../core/pool/types';
import {
  applyManifest,
  startCaches,
  startKubeFixture,
  type KubeFixture,
  type RunningCaches,
} from '../kube/fixture';
import { activitiesFor, playedRun, type PlayedRun } from './activities-fixture';

jest.setTimeout(240_000);

const CONFIG = 'rendered-late-1';
const OTHER = 'rendered-late-2';

let fixture: KubeFixture;
let running: RunningCaches;
let caches: ClusterCaches;

beforeAll(async () => {
  fixture = await startKubeFixture();
  running = await startCaches(fixture.worker, fixture.log);
  caches = running.caches;
});

afterAll(async () => {
  await running?.stop();
  await fixture?.stop();
});

const readPool = (name: string): Promise<MachineConfigPool> =>
  fixture.admin.get(MACHINE_CONFIG_POOLS, { name });

async function aPool(
  name: string,
  paused: boolean,
  annotations: Readonly<Record<string, string>>,
): Promise<void> {
  const nodeSelector = { matchLabels: { pool: name } };
  await applyManifest(fixture.admin, {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfigPool',
    metadata: { name, annotations },
    spec: {
      ...{ paused, nodeSelector, machineConfigSelector: nodeSelector },
      configuration: { name: OTHER },
    },
  });
}

type Act = (run: PlayedRun, pool: string) => Promise<void>;

/** Each on a pool on which a person has done the opposite. */
const WISHES: readonly (readonly [string, boolean, Readonly<Record<string, string>>, Act])[] = [
  [
    'resume',
    true,
    { [ANNOTATION.PAUSED_REASON]: 'incident 42' },
    (run, pool) =>
      activitiesFor(fixture, caches, run).setPoolPaused({
        ...{ pool, paused: false, reason: 'freeze is over' },
        ends: { reason: 'incident 42' },
      }),
  ],
  [
    'pause',
    false,
    {},
    (run, pool) =>
      activitiesFor(fixture, caches, run).setPoolPaused({ pool, paused: true, reason: 'freeze' }),
  ],
  [
    'mark-cancelled',
    false,
    { [ANNOTATION.ROLLOUT_STARTED]: CONFIG },
    (run, pool) =>
      activitiesFor(fixture, caches, run).markRolloutCancelled({ pool, config: OTHER }),
  ],
  [
    'mark-cancelled-of-pool',
    false,
    { [ANNOTATION.ROLLOUT_CANCELLED]: CONFIG },
    (run, pool) => activitiesFor(fixture, caches, run).markRolloutCancelled({ pool, ofPool: true }),
  ],
  [
    'forget-cancelled',
    false,
    { [ANNOTATION.ROLLOUT_CANCELLED]: CONFIG },
    (run, pool) => activitiesFor(fixture, caches, run).markRolloutCancelled({ pool }),
  ],
  [
    'mark-started',
    false,
    { [ANNOTATION.ROLLOUT_STARTED]: CONFIG },
    (run, pool) => activitiesFor(fixture, caches, run).markRolloutStarted({ pool, config: OTHER }),
  ],
  [
    'forget-started',
    false,
    { [ANNOTATION.ROLLOUT_STARTED]: CONFIG },
    (run, pool) => activitiesFor(fixture, caches, run).markRolloutStarted({ pool }),
  ],
];

describe.each(WISHES)('%s', (wish, paused, annotations, act) => {
  async function expectUntouched(name: string, run: PlayedRun, failure: string): Promise<void> {
    await aPool(name, paused, annotations);
    const before = await readPool(name);
    await expect(act(run, name)).rejects.toMatchObject({ name: failure });
    expect((await readPool(name)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  }

  it('writes nothing when its attempt was given up', async () => {
    const run = playedRun();
    run.cancel();
    await expectUntouched(`cancelled-${wish}`, run, 'CancelledFailure');
  });

  it('writes nothing when Temporal waits for another attempt, whatever its own clock says', async () => {
    const run = { ...playedRun(), isAwaited: () => Promise.resolve(false) };
    await expectUntouched(`forgotten-${wish}`, run, 'Conflict');
  });

  it('is decided again when somebody changes the pool in between', async () => {
    const name = `contended-${wish}`;
    await aPool(name, paused, annotations);
    let asked = 0;
    const isAwaited = async (): Promise<boolean> => {
      asked += 1;
      // The process is frozen here: another attempt has done the write, and a person has changed it again.
      if (asked === 1) await touch(name);
      return asked === 1;
    };

    await expect(act({ ...playedRun(), isAwaited }, name)).rejects.toMatchObject({
      name: 'Conflict',
    });

    expect(asked).toBe(2);
    const { spec, metadata } = await readPool(name);
    expect(spec.paused ?? false).toBe(paused);
    expect(metadata.annotations).toMatchObject(annotations);
  });

  it('is written while somebody waits for it, and once', async () => {
    const name = `wanted-${wish}`;
    await aPool(name, paused, annotations);
    await act(playedRun(), name);
    const after = await readPool(name);
    expect({ paused: after.spec.paused, ...after.metadata.annotations }).not.toEqual({
      paused,
      ...annotations,
    });

    await act(playedRun(), name);

    expect((await readPool(name)).metadata.resourceVersion).toBe(after.metadata.resourceVersion);
  });
});

it('does not end a pause that got another reason after the resume was asked for', async () => {
  await aPool('repaused', true, { [ANNOTATION.PAUSED_REASON]: 'incident 42' });

  const resuming = activitiesFor(fixture, caches).setPoolPaused({
    ...{ pool: 'repaused', paused: false, reason: 'freeze is over' },
    ends: { reason: 'freeze' },
  });

  await expect(resuming).rejects.toMatchObject({
    name: 'RefusedRequest',
    message: expect.stringContaining('incident 42') as string,
  });
  expect((await readPool('repaused')).spec.paused).toBe(true);
});

it('leaves the reason of a person who was faster with the same wish', async () => {
  await aPool('faster', true, { [ANNOTATION.PAUSED_REASON]: 'incident 42' });

  await activitiesFor(fixture, caches).setPoolPaused({
    ...{ pool: 'faster', paused: true, reason: 'freeze' },
  });

  const { metadata } = await readPool('faster');
  expect(metadata.annotations).toMatchObject({ [ANNOTATION.PAUSED_REASON]: 'incident 42' });
});

it('takes the config that was cancelled from the pool, and writes nothing where there is none', async () => {
  const cancel = (pool: string) =>
    activitiesFor(fixture, caches).markRolloutCancelled({ pool, ofPool: true });
  await aPool('unseen', false, {});
  await cancel('unseen');
  const { metadata } = await readPool('unseen');
  expect(metadata.annotations).toMatchObject({ [ANNOTATION.ROLLOUT_CANCELLED]: OTHER });

  await fixture.cluster.admin.call(
    'PATCH',
    '/apis/machineconfiguration.openshift.io/v1/machineconfigpools/unseen',
    { spec: { configuration: null } },
  );
  const before = await readPool('unseen');
  await cancel('unseen');
  expect((await readPool('unseen')).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

async function touch(name: string): Promise<void> {
  await fixture.cluster.admin.call(
    'PATCH',
    `/apis/machineconfiguration.openshift.io/v1/machineconfigpools/${name}`,
    { metadata: { annotations: { 'example.com/touched': 'by a person' } } },
  );
}
