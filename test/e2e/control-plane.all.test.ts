/** The control plane keeps its quorum, whichever pools its nodes are in. */

import { type Observer, startObserver } from '../observer/observer';
import { until } from '../observer/until';
import { machineConfig, plainFile } from './support/configs';
import { POOL, START_MS, startWorld, STOP_MS, STORY_MS, type World } from './support/world';

const MASTER = 'master';
const COUNTED = 'story.example.com/control-plane';
const LIMIT = 'at most 1 of 3 control-plane nodes at once';

const POLICY = {
  apiVersion: 'slipway.dev/v1alpha1',
  kind: 'RolloutPolicy',
  metadata: { name: MASTER },
  spec: { verify: { readySeconds: 1 } },
};

let world: World;
let observer: Observer;

beforeAll(async () => {
  world = await startWorld({
    nodes: { [MASTER]: 2, [POOL]: 4 },
    maxUnavailable: 3,
    policy: { verify: { readySeconds: 1 } },
    workloads: [],
  });
  const { api, stack } = world;
  await stack.manifests.applyObject(POLICY);
  for (const name of ['worker-0', 'master-0', 'master-1']) {
    // The third node also has MCO's role label of workers, so it is in their pool.
    const role = name === 'worker-0' ? { 'node-role.kubernetes.io/master': 'true' } : {};
    await api.call('PATCH', `/api/v1/nodes/${name}`, {
      metadata: { labels: { ...role, [COUNTED]: '' } },
    });
  }
  const pool = `/apis/machineconfiguration.openshift.io/v1/machineconfigpools/${MASTER}`;
  await api.call('PATCH', pool, { spec: { maxUnavailable: 2 } });
  observer = await startObserver({
    kubeconfig: stack.cluster.adminKubeconfig,
    nodeSelector: COUNTED,
    maxUnavailable: 1,
  });
}, START_MS);

afterAll(async () => {
  observer?.stop();
  await world?.stop();
}, STOP_MS);

function configFor(role: string) {
  const config = machineConfig(`50-story-${role}`, { files: [plainFile('/etc/story', role)] });
  const labels = { 'machineconfiguration.openshift.io/role': role };
  return { ...config, metadata: { ...config.metadata, labels } };
}

it(
  'rolls a control plane of three in two pools node by node',
  async () => {
    const { record } = observer;
    await until(record, 'the pool says that it may do less than it says', () =>
      (record.pool(MASTER)?.conditions['ControlPlaneLimited']?.message ?? '').startsWith(LIMIT),
    );
    // Unavailable for another reason, in another pool.
    await world.cordon('worker-0', true);
    const before = record.pool(MASTER)?.target;
    await world.stack.manifests.applyObject(configFor(MASTER));
    const target = await world.roll(configFor(POOL));

    const blocker = `waiting for room: ${LIMIT}; out of service: worker-0`;
    await world.slipwayUntil(['rollout', 'status', MASTER], ({ out }) => out.includes(blocker));
    const plan = await world.slipway(['plan', MASTER]);
    expect(plan.out).toContain(`${LIMIT}, so that etcd keeps its quorum`);
    expect(plan.out).toMatch(new RegExp(`^blocked: master-\\d: ${blocker}$`, 'm'));

    await world.cordon('worker-0', false);
    await world.allUpdatedTo(target);
    await until(record, 'the masters are done', () => {
      const pool = record.pool(MASTER);
      return pool?.target !== before && pool?.conditions['Updated']?.status === 'True';
    });

    expect(record.violations).toEqual([]);
    expect(record.maxUnavailableSeen).toBe(1);
  },
  STORY_MS,
);
