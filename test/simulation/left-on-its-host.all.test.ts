/** What an update leaves on a host, and what the next one makes of it. In quiet weather. */

import { fail } from '../../core/errors';
import { ANNOTATION } from '../../core/names';
import { diesGoingBack } from './dies-going-back';
import { quietWorld, rebootingConfig, until } from './quiet-world';
import type { PoolScenario } from './scenario';
import type { ActivityPlants } from './world/plants';
import type { World } from './world/world';

const MINUTE_MS = 60_000;
const OLD = 'rendered-worker-1';
const TIMES = { readySeconds: 0, reconnectSeconds: 30 };

interface Told {
  readonly nodes: number;
  readonly policy: PoolScenario['policy'];
  /** On the second config a unit fails after the boot. */
  readonly unitFails?: boolean;
  readonly plants?: ActivityPlants;
}

async function rolling({ nodes, policy, unitFails = false, plants = {} }: Told) {
  const configOf = (number: number) => ({
    ...rebootingConfig(number),
    unitFails: unitFails && number === 2,
  });
  const pool = {
    ...{ maxUnavailable: 1, configs: [1, 2, 3, 4].map(configOf) },
    policy: { canary: { nodes: 0 }, reboot: { timeoutSeconds: 120 }, verify: TIMES, ...policy },
  };
  const { world, run, trace } = await quietWorld({ seed: 1, nodes, pool, plants });
  world.controllers.begin();
  const schedules = (step: string) =>
    until(run, () => trace.last(5).some((line) => line.includes(`schedules ${step}`)), 5);
  return { world, run, schedules };
}

const annotation = (world: World, name: string, key: string) =>
  world.cluster.node(name).metadata.annotations?.[key];
const states = (world: World) =>
  [...world.hosts.keys()].map((name) => annotation(world, name, ANNOTATION.STATE));
const cordoned = (world: World) =>
  [...world.cluster.nodes].filter(([, { spec }]) => spec?.unschedulable).map(([name]) => name);

/** The host that booted into the second config, and whose worker is away for an hour when it is to go back. */
async function leftBroken({ world, run, schedules }: Awaited<ReturnType<typeof rolling>>) {
  await schedules('goBack');
  const host = [...world.hosts.values()].find(({ boot }) => boot > 1);
  if (host === undefined) throw new Error('no host has booted');
  host.killWorker(60 * MINUTE_MS);
  await run(75 * MINUTE_MS);
  return host;
}

jest.setTimeout(120_000);

describe('a pool that goes back to the config that its nodes are on', () => {
  const THREE = ['Done', 'Done', 'Done'];

  it('has the node whose way back had failed done on it, and halts at nobody', async () => {
    const policy = { canary: { nodes: 1 }, failureThreshold: 1 };
    const rollout = await rolling({ nodes: 3, policy, unitFails: true });
    const { world, run } = rollout;
    const host = await leftBroken(rollout);

    world.render('worker', OLD);
    await run(60 * MINUTE_MS);

    expect([host.current, host.files]).toEqual([OLD, OLD]);
    expect(states(world)).toEqual(THREE);
    expect(world.temporal.open()).toEqual([]);
    expect(world.invariants.violations).toEqual([]);
  });

  it('brings all back, although updates to the other config were lost in their reboot', async () => {
    const { world, run } = await rolling({ nodes: 3, policy: { failureThreshold: 1 } });
    const isAway = () =>
      [...world.hosts.values()].some(({ isUp, journal, boot }) => {
        return isUp && journal?.armed !== undefined && journal.armed !== boot;
      });
    await until(run, isAway);

    for (const { id } of world.temporal.open()) await world.terminate(id);
    world.render('worker', OLD);
    await run(60 * MINUTE_MS);

    expect([...world.hosts.values()].map(({ current }) => current)).toEqual([OLD, OLD, OLD]);
    expect(states(world)).toEqual(THREE);
    expect(world.invariants.violations).toEqual([]);
  });
});

describe('a host that is half done, whose node a person has put back into service', () => {
  it.each(['drain', 'person'])(
    'is not called done when its next update is ended by a %s',
    async (by) => {
      const policy = { failureThreshold: '100%', drain: { timeoutSeconds: 60 } };
      const rollout = await rolling({ nodes: 2, policy, unitFails: true });
      const { world, run, schedules } = rollout;
      const { name } = await leftBroken(rollout);

      world.uncordon(name);
      world.bind(name, { name: 'busy', stuck: true });
      world.render('worker', 'rendered-worker-3');
      await schedules('drainNode');
      if (by === 'person') world.ask('worker', 'cancelNode', { node: name });
      await run(10 * MINUTE_MS);

      expect(annotation(world, name, ANNOTATION.STATE)).toBe('Degraded');
      expect(cordoned(world)).toEqual([name]);
      for (const pod of world.pods.get(name) ?? []) pod.stuck = false;
      world.ask('worker', 'retryNode', { node: name });
      await run(60 * MINUTE_MS);
      expect(states(world)).toEqual(['Done', 'Done']);
      expect(cordoned(world)).toEqual([]);
      expect(world.invariants.violations).toEqual([]);
    },
  );
});

describe('a host whose worker died on the way back, and whose node a person has put back into service', () => {
  async function startedAgain(plants: ActivityPlants = {}) {
    const policy = { failureThreshold: '100%' };
    const { world, run, schedules } = await rolling({ nodes: 2, policy, unitFails: true, plants });
    await schedules('goBack');
    const host = [...world.hosts.values()].find(({ boot }) => boot > 1);
    if (host === undefined) throw new Error('no host has booted');
    diesGoingBack(host, 180 * MINUTE_MS);
    await run(90 * MINUTE_MS);
    expect(cordoned(world)).toEqual([host.name]);
    world.uncordon(host.name);
    await run(120 * MINUTE_MS);
    return { host, found: world.invariants.violations.map(({ invariant }) => invariant) };
  }

  it('does not boot when it starts: nobody has asked for that', async () => {
    expect((await startedAgain()).found).toEqual([]);
  });

  it('does, when the order itself counts as asked: planted, and found', async () => {
    expect((await startedAgain({ bootsBackUnasked: true })).found).toContain('I5');
  });
});

describe('a write of a Node that is refused for a while, as by an admission policy', () => {
  it.each(['completeNode', 'releaseNode'])('is tried again by %s until it holds', async (step) => {
    const policy = { failureThreshold: '100%', verify: { readySeconds: 0, reconnectSeconds: 300 } };
    const unitFails = step === 'releaseNode';
    const { world, run } = await rolling({ nodes: 3, policy, unitFails });
    const change = world.cluster.changeNode.bind(world.cluster);
    const refused = jest.fn(() => {
      throw fail('ApiRefused', 'patch Node: a policy denied it');
    });
    const changing = jest
      .spyOn(world.cluster, 'changeNode')
      .mockImplementation((name, what, who) => {
        const endsUpdate = what.annotations?.[ANNOTATION.UPDATE_RUN]?.endsWith('/over') === true;
        return endsUpdate ? refused() : change(name, what, who);
      });
    await until(run, () => refused.mock.calls.length > 0);
    await run(MINUTE_MS);
    expect(refused.mock.calls.length).toBeGreaterThan(1);

    changing.mockImplementation(change);
    await run(60 * MINUTE_MS);

    expect(states(world)).toEqual(
      Array.from({ length: 3 }, () => (unitFails ? 'Degraded' : 'Done')),
    );
    expect(cordoned(world)).toEqual([]);
    expect(world.invariants.violations).toEqual([]);
  });
});
