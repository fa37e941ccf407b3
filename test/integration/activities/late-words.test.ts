/** A frozen process resumes with a person's word about a pool that a person has changed meanwhile. */

import type { ClusterCaches } from '../../../adapters/kube/cluster-caches';
import { MACHINE_CONFIG_POOLS } from '../../../adapters/kube/resources';
import { ANNOTATION } from '../../../core/names';
import type { MachineConfigPool } from '../../../core/pool/types';
import type { Word } from '../../../workflows/contracts/rollout';
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

/** Each on a pool on which a person has done the opposite. */
const WORDS: readonly (readonly [Word, boolean, Readonly<Record<string, string>>])[] = [
  [{ kind: 'resume', reason: 'freeze is over' }, true, { [ANNOTATION.PAUSED_REASON]: 'incident' }],
  [{ kind: 'pause', reason: 'freeze' }, false, {}],
  [{ kind: 'cancel' }, false, { [ANNOTATION.ROLLOUT_STARTED]: CONFIG }],
  [{ kind: 'start' }, false, { [ANNOTATION.ROLLOUT_CANCELLED]: CONFIG }],
];
const NAMED = WORDS.map(([word, ...rest]) => [word.kind, word, ...rest] as const);

const say = (run: PlayedRun, pool: string, word: Word) =>
  activitiesFor(fixture, caches, run).writeWord({ pool, word });

describe.each(NAMED)('%s', (kind, word, paused, annotations) => {
  async function expectUntouched(name: string, run: PlayedRun, failure: string): Promise<void> {
    await aPool(name, paused, annotations);
    const before = await readPool(name);
    await expect(say(run, name, word)).rejects.toMatchObject({ name: failure });
    expect((await readPool(name)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  }

  it('writes nothing when its attempt was given up', async () => {
    const run = playedRun();
    run.cancel();
    await expectUntouched(`cancelled-${kind}`, run, 'CancelledFailure');
  });

  it('writes nothing when Temporal waits for another attempt, whatever its own clock says', async () => {
    const run = { ...playedRun(), isAwaited: () => Promise.resolve(false) };
    await expectUntouched(`forgotten-${kind}`, run, 'Conflict');
  });

  it('is decided again when somebody changes the pool in between', async () => {
    const name = `contended-${kind}`;
    await aPool(name, paused, annotations);
    let asked = 0;
    const isAwaited = async (): Promise<boolean> => {
      asked += 1;
      // The process is frozen here: another attempt has done the write, and a person has changed it again.
      if (asked === 1) await touch(name);
      return asked === 1;
    };

    await expect(say({ ...playedRun(), isAwaited }, name, word)).rejects.toMatchObject({
      name: 'Conflict',
    });

    expect(asked).toBe(2);
    const { spec, metadata } = await readPool(name);
    expect(spec.paused ?? false).toBe(paused);
    expect(metadata.annotations).toMatchObject(annotations);
  });

  it('is written while somebody waits for it', async () => {
    const name = `wanted-${kind}`;
    await aPool(name, paused, annotations);

    const seen = await say(playedRun(), name, word);

    const after = await readPool(name);
    expect({ paused: after.spec.paused, ...after.metadata.annotations }).not.toEqual({
      ...{ paused, ...annotations },
    });
    expect(seen).toEqual({ pools: Number(after.metadata.resourceVersion) });
  });
});

it.each<Word>([{ kind: 'pause', reason: 'freeze' }, { kind: 'cancel' }, { kind: 'start' }])(
  'is written once: %j',
  async (word) => {
    const name = `once-${word.kind}`;
    await aPool(name, false, {});
    await say(playedRun(), name, word);
    const after = await readPool(name);

    await say(playedRun(), name, word);

    expect((await readPool(name)).metadata.resourceVersion).toBe(after.metadata.resourceVersion);
  },
);

it('leaves the reason of a person who was faster with the same wish', async () => {
  await aPool('faster', true, { [ANNOTATION.PAUSED_REASON]: 'incident 42' });

  const pausing = say(playedRun(), 'faster', { kind: 'pause', reason: 'freeze' });

  await expect(pausing).rejects.toMatchObject({
    name: 'RefusedRequest',
    message: 'pool faster is already paused (incident 42)',
  });
  const { metadata } = await readPool('faster');
  expect(metadata.annotations).toMatchObject({ [ANNOTATION.PAUSED_REASON]: 'incident 42' });
});

it('takes the config that is cancelled from the pool, and writes nothing where there is none', async () => {
  await aPool('unseen', false, {});
  await say(playedRun(), 'unseen', { kind: 'cancel' });
  const { metadata } = await readPool('unseen');
  expect(metadata.annotations).toMatchObject({ [ANNOTATION.ROLLOUT_CANCELLED]: OTHER });

  await fixture.cluster.admin.call(
    'PATCH',
    '/apis/machineconfiguration.openshift.io/v1/machineconfigpools/unseen',
    { spec: { configuration: null } },
  );
  const before = await readPool('unseen');
  await say(playedRun(), 'unseen', { kind: 'cancel' });
  expect((await readPool('unseen')).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

async function touch(name: string): Promise<void> {
  await fixture.cluster.admin.call(
    'PATCH',
    `/apis/machineconfiguration.openshift.io/v1/machineconfigpools/${name}`,
    { metadata: { annotations: { 'example.com/touched': 'by a person' } } },
  );
}
