import { markOf, rebootsOf, wasEverCordoned } from '../e2e/support/judgements';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile } from './support/configs';
import { POOL } from './support/fleet';
import { startWorld, STORY_MS, type World } from './support/world';
import { hostNetworkPods } from './support/pods';

const APP = 'orchestrator';
const NO_DRAIN =
  'no drain: the only node of the cluster, so its pods stay until the machine shuts down';

let world: World;

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, {
    ...{ hosts: 1, alone: true, policy: { verify: { readySeconds: 1 } } },
  });
});

test(
  'an update reboots it, although no pod may ever be evicted, and its pods are back after that',
  async () => {
    const { machine, fleet, record } = world;
    const labels = { app: APP };
    await fleet.manifests.applyObject(hostNetworkPods(APP));
    await fleet.manifests.applyObject(budget(labels));
    await world.until('the pod is ready', () => record.pods.some(({ ready }) => ready));
    const pods = await podsOf(APP);
    const boots = machine.launcher.boots();
    const since = markOf(record);

    // The plan of a paused pool is the same.
    expect((await world.slipway('rollout', 'pause', POOL, '--reason', 'a look')).code).toBe(0);
    const config = await world.roll(
      hostConfig('50-alone', { files: [plainFile('/etc/story.conf', 'of the story\n')] }),
    );
    const plan = await world.slipway('plan', POOL);
    expect(plan.out).toContain(NO_DRAIN);
    expect(plan.out).not.toContain('would block a drain');
    expect((await world.slipway('rollout', 'resume', POOL)).code).toBe(0);
    await world.allUpdatedTo(config);

    expect(machine.launcher.boots()).toBe(boots + 1);
    expect(rebootsOf(record, machine.name, since)).toEqual([config]);
    expect(record.evictions).toBe(0);
    expect(wasEverCordoned(record, machine.name, since)).toBe(false);
    await world.until('the pod is back', () => record.pods.some(({ ready }) => ready));
    expect(await podsOf(APP)).toEqual(pods);
    const { items } = await world.api.call<{
      items: readonly { reason: string; message: string }[];
    }>('GET', '/api/v1/events?fieldSelector=reason=DrainSkipped');
    expect(items).toMatchObject([{ reason: 'DrainSkipped', message: NO_DRAIN }]);
  },
  STORY_MS,
);

async function podsOf(app: string): Promise<readonly string[]> {
  const { items } = await world.api.call<{ items: readonly { metadata: { uid: string } }[] }>(
    'GET',
    `/api/v1/pods?labelSelector=app%3D${app}`,
  );
  return items.map(({ metadata }) => metadata.uid);
}

/** Allows no eviction. */
function budget(matchLabels: Readonly<Record<string, string>>) {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: APP, namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels } },
  };
}
