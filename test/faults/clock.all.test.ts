/** Clocks of hosts and of the cluster worker change during an update, by seconds and by hours. */

import { machineConfig, plainFile } from '../e2e/support/configs';
import { cordonedBySlipway, markOf, rebootsOf } from '../e2e/support/judgements';
import { endOf, linesOf } from '../e2e/support/logs';
import {
  CURRENT_CONFIG,
  POOL,
  REASON,
  START_MS,
  startWorld,
  STATE,
  STOP_MS,
  type World,
} from '../e2e/support/world';
import { BoundaryWatch } from './support/boundaries';
import { type Clock, createClock } from './support/clock';
import { expectRest } from './support/rest';
import { tally } from './support/results';
import { PATIENCE_MS } from './support/strike';

const STORY_MS = 400_000;
const MINUTE = 60;
const HOUR = 60 * MINUTE;

let world: World;
let clock: Clock;
let clusterClock: Clock;

beforeAll(async () => {
  clock = createClock();
  clusterClock = createClock();
  world = await startWorld({
    nodes: { master: 0, worker: 2 },
    patienceMs: PATIENCE_MS,
    maxUnavailable: 1,
    // Both nodes share the changed clock, which may fail only the first.
    policy: { failureThreshold: 1, prepareAhead: 0, verify: { readySeconds: 1 } },
    simulation: { stageSeconds: 0.1, applySeconds: 0.5, rebootSeconds: 1, jitter: 0, failures: [] },
    workloads: [{ app: 'cart', replicas: 2, minAvailable: 1, terminationMs: 200 }],
  });
  const { product } = world.stack;
  await product.end(`host-worker/${POOL}`);
  await product.restartHosts(POOL, { environment: clock.environment });
  await product.end('cluster-worker');
  await product.start('cluster-worker', { environment: clusterClock.environment });
}, START_MS);

afterAll(async () => {
  await world?.stop();
  clock?.remove();
  clusterClock?.remove();
}, STOP_MS);

function config(serial: number) {
  return machineConfig('50-clock', {
    kernelArguments: [`clock=${serial}`],
    files: [plainFile('/etc/clock.conf', String(serial))],
  });
}

test(
  'minutes ahead and then back again: nobody notices',
  async () => {
    const mark = markOf(world.record);
    const target = await world.roll(config(1));
    const watch = new BoundaryWatch(world, target);
    const steps = [
      ['Applying', 4 * MINUTE],
      ['Rebooting', -4 * MINUTE],
      ['Verifying', 2 * MINUTE],
    ] as const;
    for (const [boundary, seconds] of steps) {
      await watch.reach(boundary);
      clock.step(seconds);
    }

    await expectRest(world, target, mark);
    clock.step(0);
    for (const [boundary, seconds] of steps) {
      tally('clock', { victim: 'host-worker', blow: `${seconds} s`, boundary });
    }
  },
  STORY_MS,
);

test(
  'hours ahead in the middle: named, rolled back and in service; completed once the clock is right',
  async () => {
    const mark = markOf(world.record);
    const before = world.target();
    const target = await world.roll(config(2));
    await world.until('a node is cordoned', () => cordonedBySlipway(world.record).length > 0);
    clock.step(9 * HOUR);
    await world.until('the node has failed and serves', () =>
      world.workers.some((name) => {
        const { annotations, ready, unschedulable } = world.node(name);
        return annotations[STATE] === 'Degraded' && ready && !unschedulable;
      }),
    );
    const failed = world.workers.filter((name) => {
      return world.node(name).annotations[STATE] === 'Degraded';
    });
    expect(failed).toHaveLength(1);
    const [name = ''] = failed;
    expect(world.node(name).annotations[REASON]).toMatch(/expired at .* the clock of this host/);
    expect(world.node(name).annotations[CURRENT_CONFIG]).toBe(before);
    expect(rebootsOf(world.record, name, mark)).toEqual([]);

    clock.step(0);
    expect(await world.retry(name)).toMatchObject({ code: 0 });

    await expectRest(world, target, mark);
    tally('clock', { victim: 'host-worker', blow: '9 h ahead', boundary: 'Cordoning' });
  },
  STORY_MS,
);

test(
  'the cluster worker hours ahead, until a node is verified: nobody notices',
  async () => {
    const mark = markOf(world.record);
    const log = world.stack.product.logFile('cluster-worker');
    const logged = endOf(log);
    // More than any timeout of drain, reboot or verification.
    clusterClock.step(9 * HOUR);
    const target = await world.roll(config(3));
    const watch = new BoundaryWatch(world, target);
    const boundaries = ['Draining', 'Verifying'] as const;
    for (const boundary of boundaries) await watch.reach(boundary);
    const saidAt = linesOf(log, logged).flatMap(({ time }) =>
      typeof time === 'string' ? [Date.parse(time)] : [],
    );
    clusterClock.step(0);

    expect(Math.max(...saidAt) - Date.now()).toBeGreaterThan(8 * HOUR * 1000);
    await expectRest(world, target, mark);
    for (const boundary of boundaries) {
      tally('clock', { victim: 'cluster-worker', blow: '9 h ahead, then right', boundary });
    }
  },
  STORY_MS,
);
