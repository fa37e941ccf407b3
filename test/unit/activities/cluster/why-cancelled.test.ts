import { createWhyCancelled } from '../../../../activities/cluster/why-cancelled';
import type { ClusterPorts } from '../../../../activities/cluster/ports';
import { fail } from '../../../../core/errors';
import { ANNOTATION, LABEL } from '../../../../core/names';
import type { Node } from '../../../../core/node/types';
import type { MachineConfigPool } from '../../../../core/pool/types';
import { aPool } from '../../core/pool/builders';
import { A, aRun, B, old } from '../../core/rollout/rollout-pool';
import { pictureOf } from './picture-of';

const INFRA = 'node-role.kubernetes.io/infra';

function poolNamed(name: string, label: string, config = B): MachineConfigPool {
  const spec = { configuration: { name: config }, nodeSelector: { matchLabels: { [label]: '' } } };
  return aPool(spec, { name });
}

const WORKER = poolNamed('worker', LABEL.WORKER);
const cancelled: MachineConfigPool = {
  ...WORKER,
  metadata: { ...WORKER.metadata, annotations: { [ANNOTATION.ROLLOUT_CANCELLED]: B } },
};
const labels = { [LABEL.WORKER]: '' };
const held = { [ANNOTATION.HELD_FOR]: B, [ANNOTATION.HELD_REASON]: 'skipped: disk' };

interface Scene {
  /** In the API server; undefined = gone. */
  readonly node: Node | undefined;
  readonly pool: MachineConfigPool | undefined;
}

/** The caches show that nothing has happened. */
function whyCancelled({ node, pool }: Scene, takesBack?: true) {
  const orGone = <T>(object: T | undefined): Promise<T> =>
    object === undefined
      ? Promise.reject(fail('ObjectNotFound', 'it does not exist'))
      : Promise.resolve(object);
  const ports = {
    view: { pools: pictureOf([WORKER, poolNamed('infra', INFRA)]) },
    nodes: { read: () => orGone(node) },
    pools: { change: () => orGone(pool) },
  } as unknown as ClusterPorts;
  const step = { node: 'n', uid: 'uid-n', pool: 'worker', config: B, workflowId: 'update-node/n' };
  return createWhyCancelled(ports)({
    ...{ ...step, run: aRun('r1') },
    ...(takesBack === undefined ? {} : { takesBack }),
  });
}

const usual: Scene = { node: old('n', { labels }), pool: WORKER };

it.each<[string, Partial<Scene>, object]>([
  [
    'its Node is gone',
    { node: undefined },
    { name: 'NodeDeleted', reason: 'node n was deleted during its update' },
  ],
  [
    'its node was moved',
    { node: old('n', { labels: { ...labels, [INFRA]: '' } }) },
    { name: 'NodeMoved', reason: 'node n belongs to pool infra, and no longer to pool worker' },
  ],
  [
    'a person holds the node',
    { node: old('n', { labels, annotations: held }) },
    {
      name: 'HeldByUser',
      reason: `node n is held for ${B} (skipped: disk); retry it to let it be updated`,
    },
  ],
  [
    'its pool has another config',
    { pool: poolNamed('worker', LABEL.WORKER, A) },
    { name: 'Retargeted', reason: `pool worker is rolled to ${A} now` },
  ],
  ['its pool is gone', { pool: undefined }, { reason: 'its pool was deleted' }],
  ['its rollout was cancelled', { pool: cancelled }, { reason: 'a person cancelled the rollout' }],
])('an update is cancelled because %s, whatever the caches show', async (_why, scene, reason) => {
  expect(await whyCancelled({ ...usual, ...scene })).toEqual(reason);
});

it('holds the node when nothing but a person in Temporal can have cancelled its update', async () => {
  const reason = 'a person cancelled the update in Temporal';

  expect(await whyCancelled(usual)).toEqual({ reason, holds: true });
});

it('does not take a hold for the reason where the update takes the node back', async () => {
  const found = await whyCancelled(
    { ...usual, node: old('n', { labels, annotations: held }) },
    true,
  );

  expect(found.name).toBeUndefined();
});
