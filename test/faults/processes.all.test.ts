/**
 * Every process is struck at the boundaries of the phases of an update; the rollout completes, and
 * no promise is broken. `npm run faults` strikes each process at each boundary in each way.
 */

import { machineConfig, plainFile, withOsImage } from '../e2e/support/configs';
import { cordonedBySlipway, markOf, type Mark } from '../e2e/support/judgements';
import { POOL, START_MS, startWorld, STOP_MS, type World } from '../e2e/support/world';
import { PRODUCT_NAMES } from '../../tools/stack/product';
import { BOUNDARIES, BoundaryWatch, type Boundary } from './support/boundaries';
import { campaign, plannedStrikes } from './support/campaign';
import { watchLeader } from './support/leader';
import { expectRest } from './support/rest';
import { tally } from './support/results';
import { strikeInTurn } from './support/in-turn';
import { strike, STRUCK, VICTIMS } from './support/strike';

const STORY_MS = 1_200_000;

let world: World;

beforeAll(async () => {
  world = await startWorld(STRUCK);
}, START_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

let serial = 0;

async function rollNext(): Promise<Rolling> {
  serial += 1;
  const name = `faults-${serial}`;
  const mark = markOf(world.record);
  const manifest = machineConfig('50-faults', {
    kernelArguments: [`fault=${serial}`],
    files: [plainFile('/etc/faults.conf', name), plainFile(`/etc/${name}`, name)],
  });
  const config = await world.roll(withOsImage(manifest, serial));
  const watch = new BoundaryWatch(world, config);
  return { mark, config, watch, rest: () => expectRest(world, config, mark) };
}

interface Rolling {
  readonly mark: Mark;
  readonly config: string;
  readonly watch: BoundaryWatch;
  rest(): Promise<void>;
}

async function setTrigger(trigger: 'Automatic' | 'Manual'): Promise<void> {
  const policy = `/apis/slipway.dev/v1alpha1/rolloutpolicies/${POOL}`;
  await world.api.call('PATCH', policy, { spec: { trigger } });
}

function hasPods(node: string): boolean {
  return world.record.pods.some((pod) => pod.node === node && !pod.terminating);
}

const untilCordoned = () =>
  world.until('a node is cordoned', () => cordonedBySlipway(world.record).length > 0);

async function expectNowhere(watch: BoundaryWatch): Promise<void> {
  for (const boundary of BOUNDARIES) {
    expect([boundary, await watch.at(boundary)]).toEqual([boundary, []]);
  }
}

test(
  'no node is at any boundary before its update has begun',
  async () => {
    await setTrigger('Manual');
    const { mark, config, watch } = await rollNext();
    await expectNowhere(watch);
    expect(await world.slipway(['rollout', 'start', POOL])).toMatchObject({ code: 0 });
    await watch.reach('Preparing');
    await expectRest(world, config, mark);
    await expectNowhere(watch);
    await setTrigger('Automatic');
  },
  STORY_MS,
);

test.each(VICTIMS.map((victim) => [victim] as const))(
  '%s is killed, frozen and restarted at the boundaries of the phases',
  async (victim) => {
    await strikeInTurn(
      rollNext,
      plannedStrikes(campaign(), victim),
      ({ boundary }) => boundary,
      ({ victim: process, blow }) => strike(world.stack, process, blow),
      (one) => {
        tally('processes', one);
      },
    );
  },
  STORY_MS * Math.max(1, campaign().rounds),
);

test('the part of the table that is struck here has each boundary', () => {
  const strikes = VICTIMS.flatMap((victim) => plannedStrikes(campaign(), victim));
  expect([...new Set(strikes.map(({ boundary }) => boundary))].sort()).toEqual(
    [...BOUNDARIES].sort(),
  );
});

describe('two of everything', () => {
  test(
    'a leader that stands still is followed by the other, and changes nothing when it wakes',
    async () => {
      const { product, cluster } = world.stack;
      const leader = await watchLeader(cluster.adminKubeconfig);
      const first = leader.holder();
      const second = await product.startSecond('controllers');
      const pid = product.pid('controllers');
      process.kill(pid, 'SIGSTOP');
      await leader.changed(first);
      const rolling = await rollNext();
      await untilCordoned();
      process.kill(pid, 'SIGCONT');
      await expectRest(world, rolling.config, rolling.mark);
      expect(leader.holder()).not.toBe(first);
      leader.stop();
      await product.end(second);
      tally('two', {
        victim: 'controllers',
        blow: 'the leader stands still',
        boundary: 'before the rollout to Cordoning',
      });
    },
    STORY_MS,
  );

  test(
    'a cluster worker that stands still leaves its nodes to the other, and changes nothing when it wakes',
    async () => {
      const { product } = world.stack;
      const second = await product.startSecond('cluster-worker');
      const { mark, config, watch } = await rollNext();
      await untilCordoned();
      const pid = product.pid('cluster-worker');
      process.kill(pid, 'SIGSTOP');
      await world.until('the other has updated all', () => watch.isOver());
      process.kill(pid, 'SIGCONT');
      await expectRest(world, config, mark);
      await product.kill(second);
      tally('two', {
        victim: 'cluster-worker',
        blow: 'one stands still',
        boundary: 'Cordoning to the end',
      });
    },
    STORY_MS,
  );

  test(
    'a second host worker for the same machines waits for the first, and takes over when that dies',
    async () => {
      const { product } = world.stack;
      const second = await product.startSecondHosts(POOL);
      const { mark, config, watch } = await rollNext();
      await watch.reach('Applying');
      await product.kill(`host-worker/${POOL}`);
      await expectRest(world, config, mark);
      await product.kill(second);
      await product.restartHosts(POOL);
      tally('two', { victim: 'host-worker', blow: 'the first dies', boundary: 'Applying' });
    },
    STORY_MS,
  );
});

describe("Temporal's database is lost", () => {
  /** One per node; `Rebooting` is in the test of the new address below. */
  const rollouts: readonly (readonly Boundary[])[] =
    campaign().rounds === 0
      ? [
          ['Preparing', 'Cordoning', 'Applying', 'Verifying'],
          ['WaitingForGrant', 'Draining', 'Completing'],
        ]
      : BOUNDARIES.map((boundary) => [boundary]);

  test.each(rollouts.map((boundaries) => [boundaries.join(', '), boundaries] as const))(
    'while a node is at %s: nodes are adopted as they are, and none reboots again',
    async (_names, boundaries) => {
      await strikeInTurn(
        rollNext,
        boundaries,
        (boundary) => boundary,
        () => world.stack.temporal.lose(),
        (boundary) => {
          tally('temporal-lost', { victim: 'temporal', boundary, blow: 'database gone' });
        },
      );
    },
    STORY_MS,
  );

  test(
    'of a rollout that a person started: it is started again, and none waits for that person',
    async () => {
      const { temporal } = world.stack;
      await setTrigger('Manual');
      const { mark, config, watch } = await rollNext();
      expect(await world.slipway(['rollout', 'start', POOL])).toMatchObject({ code: 0 });
      await watch.reach('Draining');
      await temporal.lose();
      await expectRest(world, config, mark);
      await setTrigger('Automatic');
      const what = { victim: 'temporal', boundary: 'Draining', blow: 'database gone, Manual' };
      tally('temporal-lost', what);
    },
    STORY_MS,
  );

  test(
    'of a rollout that is paused: the nodes under way are finished, and no other is begun',
    async () => {
      const { temporal } = world.stack;
      await world.allowEvictions(false);
      const { mark, config, watch } = await rollNext();
      await watch.reach('Draining', hasPods);
      expect(await world.slipway(['rollout', 'pause', POOL])).toMatchObject({ code: 0 });
      await temporal.lose();
      const begun = cordonedBySlipway(world.record);
      expect(begun).not.toEqual([]);
      await world.allowEvictions(true);
      await world.until('the nodes under way are done', () => watch.isOver(begun));
      expect(cordonedBySlipway(world.record)).toEqual([]);
      expect(watch.isOver()).toBe(false);
      expect(await world.slipway(['rollout', 'resume', POOL])).toMatchObject({ code: 0 });
      await expectRest(world, config, mark);
      const what = { victim: 'temporal', boundary: 'Draining', blow: 'database gone, paused' };
      tally('temporal-lost', what);
    },
    STORY_MS,
  );

  test(
    'and the new server has another address',
    async () => {
      const { product, temporal } = world.stack;
      const { mark, config, watch } = await rollNext();
      await watch.reach('Rebooting');
      await temporal.lose({ newPorts: true });
      world.judge.temporalMoved(temporal.address);
      // An operator puts the new address into the settings. Hosts keep that of the gateway.
      await Promise.all(
        PRODUCT_NAMES.map(async (name) => {
          await product.end(name);
          await product.start(name);
        }),
      );
      await expectRest(world, config, mark);
      tally('temporal-lost', { victim: 'temporal', boundary: 'Rebooting', blow: 'moved' });
    },
    STORY_MS,
  );
});
