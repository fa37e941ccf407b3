/** A machine dies in the middle of its update and never returns; the others do not wait for it. */

import type { RolloutSnapshot } from '../../cli/snapshot';
import { machineConfig, plainFile } from './support/configs';
import { differences } from './support/host-disk';
import { markOf, rebootsOf } from './support/judgements';
import {
  CORDONED_BY,
  CURRENT_CONFIG,
  POOL,
  REASON,
  START_MS,
  startWorld,
  STATE,
  STOP_MS,
  type World,
} from './support/world';

const STORY_MS = 600_000;
/** Time limit for the return of a machine, in the update and in the rollback. */
const WAIT_SECONDS = 30;

let world: World;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 0, worker: 4 },
    patienceMs: 240_000,
    maxUnavailable: 2,
    policy: {
      canary: { nodes: 0 },
      failureThreshold: 2,
      reboot: { timeoutSeconds: WAIT_SECONDS },
      verify: { readySeconds: 1, reconnectSeconds: WAIT_SECONDS },
    },
    simulation: { stageSeconds: 0, applySeconds: 0.2, rebootSeconds: 3, jitter: 0, failures: [] },
  });
}, START_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

async function rowOf(node: string): Promise<RolloutSnapshot['rows'][number] | undefined> {
  const { out } = await world.slipway(['rollout', 'status', POOL, '-o', 'json']);
  return (JSON.parse(out) as RolloutSnapshot).rows.find((row) => row.node === node);
}

test(
  'a machine that goes down for its reboot and never comes back is given up and named; the others finish',
  async () => {
    const { product } = world.stack;
    const old = world.target();
    const mark = markOf(world.record);
    const config = await world.roll(
      machineConfig('50-dies', {
        kernelArguments: ['dies=1'],
        files: [plainFile('/etc/dies.conf', 'on')],
      }),
    );
    const down = () => world.workers.find((name) => !world.node(name).ready);
    await world.until('a machine is down', () => down() !== undefined);
    const dead = down() ?? '';
    const others = world.workers.filter((name) => name !== dead);
    await product.kill(`host-worker/${POOL}`);
    await product.startHosts([{ pool: POOL, nodes: others, firstBoot: old }]);

    await world.allUpdatedTo(config, others);
    for (const node of others) {
      expect([node, rebootsOf(world.record, node, mark)]).toEqual([node, [config]]);
      expect(await differences(world.api, config, world.stack.hostRoot(node))).toEqual([]);
    }

    await world.until(`${dead} is given up`, () => {
      return world.node(dead).annotations[STATE] === 'Degraded';
    });
    // The state of its disk is unknown, so it stays out of service, with the reason on its Node.
    const { annotations, unschedulable, ready } = world.node(dead);
    expect({ unschedulable, ready }).toEqual({ unschedulable: true, ready: false });
    expect(annotations[CORDONED_BY]).toBe(`update-node/${dead}`);
    expect(annotations[CURRENT_CONFIG]).toBe(old);
    expect(annotations[REASON]).toMatch(/could not be rolled back, so the node is cordoned/);
    expect(rebootsOf(world.record, dead, mark)).toEqual([]);
    expect(await rowOf(dead)).toMatchObject({ group: 'Failed' });

    // To scrap the machine, a person only deletes its Node.
    await world.api.call('DELETE', `/api/v1/nodes/${dead}`);
    await world.until('the pool is updated', () => {
      return world.record.pool(POOL)?.conditions['Updated']?.status === 'True';
    });
    const status = await world.slipway(['rollout', 'status', POOL, '--watch', '--timeout', '2m']);
    expect(status).toMatchObject({ code: 0 });
    expect(status.out).toContain('3/3 updated');
  },
  STORY_MS,
);
