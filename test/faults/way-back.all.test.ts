/**
 * Every process is struck during a rollback, and Temporal loses its database: the machine is on its
 * old config, in service, with one reboot forward and one back.
 */

import { machineConfig, plainFile } from '../e2e/support/configs';
import { differences, pictureOf } from '../e2e/support/host-disk';
import { markOf, type Mark, rebootsOf } from '../e2e/support/judgements';
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
import { campaign, WAY_BACK_MOMENTS, type WayBackMoment, wayBackStrikes } from './support/campaign';
import { violationsSince } from './support/rest';
import { tally } from './support/results';
import { PATIENCE_MS, strike, VICTIMS } from './support/strike';

const STORY_MS = 900_000;
const NODE = 'worker-0';
const PODS = 2;

let world: World;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 1, worker: 1 },
    temporalDatabase: true,
    patienceMs: PATIENCE_MS,
    maxUnavailable: 1,
    policy: { verify: { readySeconds: 1 } },
    simulation: {
      stageSeconds: 0.1,
      applySeconds: 0.3,
      rebootSeconds: 0.7,
      jitter: 0,
      failures: [`node=${NODE},at=verify,times=1000`],
    },
    // No other node could run the pods: a budget would hold the drain for ever.
    workloads: [{ app: 'cart', replicas: PODS, minAvailable: 0, terminationMs: 200 }],
  });
}, START_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

let serial = 0;

function watchWayBack(mark: Mark): (moment: WayBackMoment) => boolean {
  const file = world.stack.product.logFile(`host-worker/${POOL}`);
  const from = endOf(file);
  const isLogged = (field: string, value: string) =>
    linesOf(file, from).some((line) => line[field] === value);
  return (moment) => {
    switch (moment) {
      case 'GoingBack':
        return isLogged('failure', 'VerifyFailed');
      case 'RebootingBack':
        return isLogged('msg', 'update rolled back');
      case 'VerifyingBack':
        return rebootsOf(world.record, NODE, mark).length === 2;
    }
  };
}

interface Struck {
  readonly victim: string;
  readonly moment: WayBackMoment;
  readonly blow: string;
}

async function failAndStrike(
  { victim, moment, blow }: Struck,
  struck: () => Promise<void>,
): Promise<void> {
  serial += 1;
  const old = world.node(NODE).annotations[CURRENT_CONFIG] ?? '';
  const before = await pictureOf(world.stack.hostRoot(NODE));
  await world.until('its pods are back', () => {
    return world.record.pods.filter(({ ready }) => ready).length === PODS;
  });
  const { evictions } = world.record;
  const mark = markOf(world.record);
  const isAt = watchWayBack(mark);
  await world.roll(
    machineConfig('50-back', {
      kernelArguments: [`back=${serial}`],
      files: [plainFile('/etc/back.conf', String(serial))],
    }),
  );
  await world.until(`${NODE} is at ${moment}`, () => isAt(moment));
  await struck();

  await world.until(`${NODE} has failed and serves`, () => {
    const { annotations, ready, unschedulable } = world.node(NODE);
    const isBack = rebootsOf(world.record, NODE, mark).length === 2;
    return annotations[STATE] === 'Degraded' && isBack && ready && !unschedulable;
  });
  await world.judge.rest();
  expect(world.node(NODE).annotations[CURRENT_CONFIG]).toBe(old);
  expect(world.node(NODE).annotations[REASON]).toContain('a service does not come up');
  expect(await differences(world.api, old, world.stack.hostRoot(NODE))).toEqual([]);
  expect(await pictureOf(world.stack.hostRoot(NODE))).toEqual(before);
  expect(rebootsOf(world.record, NODE, mark)).toHaveLength(2);
  expect(world.record.evictions).toBe(evictions + PODS);
  expect(violationsSince(world, mark)).toEqual([]);
  tally('way-back', { victim, blow, boundary: moment });
}

test.each(VICTIMS.map((victim) => [victim] as const))(
  '%s is struck during rollback: the node is back, named, and in service',
  async (victim) => {
    for (const { boundary: moment, blow } of wayBackStrikes(campaign(), victim)) {
      await failAndStrike({ victim, moment, blow }, () => strike(world.stack, victim, blow));
    }
  },
  STORY_MS * Math.max(1, campaign().rounds),
);

test.each(WAY_BACK_MOMENTS)(
  "Temporal's database is lost at %s: the node is back, named, and not tried again",
  async (moment) => {
    const what = { victim: 'temporal', moment, blow: 'database gone' };
    await failAndStrike(what, () => world.stack.temporal.lose());
  },
  STORY_MS,
);
