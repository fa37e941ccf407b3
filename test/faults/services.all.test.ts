/**
 * Every process is struck while services of machines are reloaded and restarted; no machine
 * reboots.
 */

import { machineConfig, plainFile } from '../e2e/support/configs';
import { markOf } from '../e2e/support/judgements';
import { endOf, linesOf } from '../e2e/support/logs';
import { POOL, START_MS, startWorld, STOP_MS, type World } from '../e2e/support/world';
import { BoundaryWatch, SERVICE_BOUNDARIES } from './support/boundaries';
import { campaign, serviceStrikes } from './support/campaign';
import { type Struck, strikeInTurn } from './support/in-turn';
import { expectRest } from './support/rest';
import { tally } from './support/results';
import { PATIENCE_MS, strike, VICTIMS } from './support/strike';

const STORY_MS = 600_000;

let world: World;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 0, worker: 3 },
    temporalDatabase: true,
    patienceMs: PATIENCE_MS,
    maxUnavailable: 1,
    policy: { verify: { readySeconds: 1 } },
    simulation: {
      stageSeconds: 0,
      applySeconds: 0.5,
      serviceSeconds: 0.7,
      rebootSeconds: 0.7,
      jitter: 0.2,
      failures: [],
    },
    workloads: [],
  });
}, START_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

let serial = 0;

const hostLog = () => world.stack.product.logFile(`host-worker/${POOL}`);

/** By default these files cost a reload of CRI-O and a restart of the kubelet. */
async function rollNext(): Promise<Struck> {
  serial += 1;
  const mark = markOf(world.record);
  const from = endOf(hostLog());
  const config = await world.roll(
    machineConfig('50-services', {
      files: [
        plainFile('/etc/containers/registries.d/faults.yaml', `# ${serial}`),
        plainFile('/etc/kubernetes/credential-providers/faults.yaml', `# ${serial}`),
      ],
    }),
  );
  return {
    watch: new BoundaryWatch(world, config, false),
    rest: async () => {
      await expectRest(world, config, mark, false);
      expectServicesActedOn(from);
    },
  };
}

/** A process that died during an action repeats it. */
function expectServicesActedOn(from: number): void {
  const lines = linesOf(hostLog(), from);
  for (const node of world.workers) {
    const acts = lines.filter((line) => line['node'] === node).map(({ msg }) => msg);
    expect([node, acts]).toEqual([
      node,
      expect.arrayContaining(['simulated systemctl reload', 'simulated systemctl restart']),
    ]);
  }
}

test.each(VICTIMS.map((victim) => [victim] as const))(
  '%s is struck at the boundaries of updates without a reboot',
  async (victim) => {
    await strikeInTurn(
      rollNext,
      serviceStrikes(campaign(), victim),
      ({ boundary }) => boundary,
      ({ victim: process, blow }) => strike(world.stack, process, blow),
      (one) => {
        tally('services', one);
      },
    );
  },
  STORY_MS * Math.max(1, campaign().rounds),
);

test('the part of the table that is struck here has each boundary', () => {
  const strikes = VICTIMS.flatMap((victim) => serviceStrikes(campaign(), victim));
  expect([...new Set(strikes.map(({ boundary }) => boundary))].sort()).toEqual(
    [...SERVICE_BOUNDARIES].sort(),
  );
});
