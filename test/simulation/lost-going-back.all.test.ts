/**
 * An update that goes back is lost, with everything that Temporal knew: its node has not said yet how it ended. In
 * quiet weather.
 */

import { ANNOTATION, poolRolloutId, updateNodeId } from '../../core/names';
import { diesGoingBack } from './dies-going-back';
import { quietWorld, rebootingConfig, until } from './quiet-world';
import type { Host } from './world/host';
import type { SimulatedConfig } from './world/journal';
import type { ActivityPlants } from './world/plants';
import type { World } from './world/world';

const MINUTE_MS = 60_000;
const BAD = 'rendered-worker-2';

/** How the second config is bad. */
type Fault = Partial<Pick<SimulatedConfig, 'unitFails' | 'doesNotBoot' | 'cutsNetwork'>>;

interface Told {
  readonly plants?: ActivityPlants;
  readonly seed?: number;
  /** One node at a time, of which none tries the config for the others. */
  readonly oneByOne?: boolean;
}

async function rolling(fault: Fault, { plants = {}, seed = 1, oneByOne = false }: Told = {}) {
  const configOf = (number: number) => ({
    ...rebootingConfig(number),
    ...(number === 2 ? fault : {}),
  });
  const pool = {
    ...{ maxUnavailable: oneByOne ? 1 : 2, configs: [1, 2, 3, 4].map(configOf) },
    policy: {
      ...{
        canary: { nodes: oneByOne ? 0 : 1 },
        failureThreshold: 1,
        reboot: { timeoutSeconds: 600 },
      },
      verify: { readySeconds: 10, reconnectSeconds: 120 },
    },
  };
  const { world, run, trace } = await quietWorld({ seed, nodes: 3, pool, plants });
  world.controllers.begin();
  return { world, run, trace };
}

type Rolling = Awaited<ReturnType<typeof rolling>>;

async function untilHost({ world, run }: Rolling, holds: (host: Host) => boolean): Promise<Host> {
  const found = () => [...world.hosts.values()].find(holds);
  await until(run, () => found() !== undefined, 5);
  const host = found();
  if (host === undefined) throw new Error('there is none any more');
  return host;
}

async function loseTemporal(world: World): Promise<void> {
  for (const { id } of world.temporal.open()) await world.terminate(id);
}

const annotation = (world: World, { name }: Host, key: string) =>
  world.cluster.node(name).metadata.annotations?.[key];
const cordoned = (world: World) =>
  [...world.cluster.nodes].filter(([, { spec }]) => spec?.unschedulable).map(([name]) => name);
const others = (world: World, { name }: Host) =>
  [...world.hosts.values()].filter((host) => host.name !== name);

/** It failed, as it would have if its update had not been lost; nobody else tried the config. */
async function expectFailed(world: World, host: Host, reason: string): Promise<void> {
  expect(annotation(world, host, ANNOTATION.STATE)).toBe('Degraded');
  expect(annotation(world, host, ANNOTATION.REASON)).toContain(reason);
  expect([host.current, host.files, host.os]).toEqual(['rendered-worker-1', host.current, 'os-1']);
  expect(host.journal).toBeUndefined();
  expect(cordoned(world)).toEqual([]);
  expect(others(world, host).map(({ boot }) => boot)).toEqual([1, 1]);
  expect(world.rollout('worker')).toMatchObject({ state: 'Halted', counts: { failed: 1 } });
  expect(world.invariants.violations).toEqual([]);
}

jest.setTimeout(120_000);

const MOMENTS = {
  'has been told to go back': ({ journal, boot }: Host) =>
    boot === 2 && journal?.goingBack?.due === true,
  'is down for it': ({ boot, isUp, journal }: Host) =>
    boot === 2 && !isUp && journal?.goingBack !== undefined,
  'is up on its old config': ({ boot, journal }: Host) => boot === 3 && journal !== undefined,
  'has proven that it is back': ({ boot, journal }: Host) => boot === 3 && journal === undefined,
} as const;

describe('a canary whose update to a bad config is lost when its machine', () => {
  const lostWhen = async (moment: keyof typeof MOMENTS, plants: ActivityPlants = {}) => {
    const rollout = await rolling({ unitFails: true }, { plants });
    const host = await untilHost(rollout, MOMENTS[moment]);
    expect(annotation(rollout.world, host, ANNOTATION.STATE)).toBe('Working');
    await loseTemporal(rollout.world);
    await rollout.run(40 * MINUTE_MS);
    return { ...rollout, host };
  };

  it.each(Object.keys(MOMENTS) as (keyof typeof MOMENTS)[])(
    '%s counts as failed, does not boot into it again, and is tried when told',
    async (moment) => {
      const { world, run, host } = await lostWhen(moment);
      expect(host.boot).toBe(3);
      await expectFailed(world, host, 'EarlierUpdateFailed: ');
      expect(annotation(world, host, ANNOTATION.REASON)).toContain(
        'VerifyFailed: unit chronyd.service has failed',
      );

      world.ask('worker', 'retryNode', { node: host.name });
      await run(40 * MINUTE_MS);
      expect(host.boot).toBe(5);
      await expectFailed(world, host, 'VerifyFailed: unit chronyd.service has failed');

      world.render('worker', 'rendered-worker-3');
      await run(40 * MINUTE_MS);
      expect([...world.hosts.values()].map(({ current }) => current)).toEqual(
        Array.from({ length: 3 }, () => 'rendered-worker-3'),
      );
      expect(world.invariants.violations).toEqual([]);
    },
  );

  it.each(Object.keys(MOMENTS) as (keyof typeof MOMENTS)[])(
    '%s boots into it again where hosts forget: planted',
    async (moment) => {
      const { host } = await lostWhen(moment, { forgetsFailures: true });

      expect(host.boot).toBe(5);
    },
  );

  it('makes room for nobody, also while it serves again and its update has not said why', async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const rollout = await rolling({ unitFails: true }, { seed, oneByOne: true });
      const { world, run } = rollout;
      const host = await untilHost(rollout, MOMENTS['has proven that it is back']);
      // The others have prepared theirs, and go on.
      for (const id of [updateNodeId(host.name), poolRolloutId('worker')])
        await world.terminate(id);
      const isHalted = async () => world.rollout('worker')?.state === 'Halted';
      await until(run, isHalted, 100);

      const ofOthers = world.granted.filter((node) => node !== host.name);
      expect({ seed, ofOthers }).toEqual({ seed, ofOthers: [] });
      expect(world.invariants.violations).toEqual([]);
    }
  });

  it('dies before it asks for the boot is taken back by the next update', async () => {
    const rollout = await rolling({ unitFails: true });
    const { world, run } = rollout;
    const host = await untilHost(rollout, ({ boot, isUp }) => boot === 2 && isUp);
    diesGoingBack(host, MINUTE_MS);
    await untilHost(rollout, ({ isWorking, isUp, journal }) => {
      return isUp && !isWorking && journal?.goingBack !== undefined;
    });
    await loseTemporal(world);
    await run(40 * MINUTE_MS);

    expect(host.boot).toBe(3);
    await expectFailed(world, host, 'VerifyFailed: unit chronyd.service has failed');
  });
});

describe('a machine that goes back by itself, whose update is lost meanwhile,', () => {
  it.each<[string, Fault, string, number]>([
    ['did not boot its config', { doesNotBoot: true }, 'the new deployment did not come up', 2],
    ['was cut off by it', { cutsNetwork: true }, 'nobody could be reached', 3],
  ])('and %s counts as failed', async (_, fault, reason, boot) => {
    const rollout = await rolling(fault);
    const { world, run } = rollout;
    const host = await untilHost(rollout, ({ journal }) => journal?.goingBack?.failed === true);
    await loseTemporal(world);
    await run(40 * MINUTE_MS);

    expect(host.boot).toBe(boot);
    await expectFailed(world, host, reason);
  });
});

it('a way back that was ordered for another config is no failure of the one before', async () => {
  const rollout = await rolling({});
  const { world, run } = rollout;
  const host = await untilHost(rollout, ({ journal }) => journal !== undefined);
  // So that it is not past its point of no return when the rollout hears of the other config.
  host.killWorker(MINUTE_MS);
  world.render('worker', 'rendered-worker-3');
  await untilHost(rollout, ({ journal }) => journal?.goingBack !== undefined);
  await world.terminate(updateNodeId(host.name));
  world.render('worker', BAD);
  await run(60 * MINUTE_MS);

  expect([...world.hosts.values()].map(({ current }) => current)).toEqual([BAD, BAD, BAD]);
  expect(world.invariants.violations).toEqual([]);
});
