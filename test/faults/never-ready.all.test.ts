/**
 * A canary's host is verified on the new config, but its node never becomes Ready, and its update
 * is lost while it waits. The config stays unverified.
 */

import type { Client } from '@temporalio/client';
import { machineConfig, plainFile } from '../e2e/support/configs';
import { differences, pictureOf } from '../e2e/support/host-disk';
import {
  cordonedBySlipway,
  markOf,
  rebootsOf,
  unverified,
  wasEverCordoned,
} from '../e2e/support/judgements';
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
import { violationsSince } from './support/rest';
import { PATIENCE_MS } from './support/strike';
import { temporalClient } from '../../tools/temporal';

const STORY_MS = 300_000;
const READY_SECONDS = 10;

let world: World;
let client: Client;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 0, worker: 3 },
    patienceMs: PATIENCE_MS,
    maxUnavailable: 2,
    policy: {
      canary: { nodes: 1 },
      failureThreshold: 1,
      verify: { readySeconds: READY_SECONDS, reconnectSeconds: 30 },
    },
    simulation: { stageSeconds: 0, applySeconds: 0.2, rebootSeconds: 1, jitter: 0, failures: [] },
    workloads: [],
  });
  client = await temporalClient(world.stack.temporal);
}, START_MS);

afterAll(async () => {
  await client?.connection.close();
  await world?.stop();
}, STOP_MS);

/** As a kubelet without network; its next boot reports otherwise. */
async function breakNetwork(name: string): Promise<void> {
  const path = `/api/v1/nodes/${name}`;
  const { status } = await world.api.call<{ status: { conditions?: { type: string }[] } }>(
    'GET',
    path,
  );
  const others = (status.conditions ?? []).filter(({ type }) => type !== 'Ready');
  const broken = { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'no CNI' };
  await world.api.call('PATCH', `${path}/status`, { status: { conditions: [...others, broken] } });
}

test(
  'rolls back and stops the rollout, although its host was verified',
  async () => {
    const old = world.target();
    const mark = markOf(world.record);
    const disk = (name: string) => pictureOf(world.stack.hostRoot(name));
    const disks = new Map<string, unknown>();
    for (const name of world.workers) disks.set(name, await disk(name));
    const config = await world.roll(
      machineConfig('50-network', {
        kernelArguments: ['network=broken'],
        files: [plainFile('/etc/network.conf', 'broken')],
      }),
    );
    const canary = await new BoundaryWatch(world, config).reach('Verifying');
    const others = world.workers.filter((name) => name !== canary);
    await breakNetwork(canary);

    await client.workflow.getHandle(`update-node/${canary}`).terminate('the update is lost');

    await world.until('somebody has said how it ends', () => {
      const { annotations } = world.node(canary);
      return annotations[CURRENT_CONFIG] === config || annotations[STATE] === 'Degraded';
    });
    expect(unverified(world.record, canary, config, mark)).toEqual([]);
    expect(world.node(canary).annotations[CURRENT_CONFIG]).toBe(old);
    expect(world.node(canary).annotations[REASON]).toMatch(/not Ready/i);
    await world.until('the canary serves', () => {
      const { ready, unschedulable } = world.node(canary);
      return ready && !unschedulable;
    });
    const status = await world.slipwayUntil(['rollout', 'status', POOL], ({ out }) =>
      out.includes('Halted'),
    );
    expect(status.code).toBe(4);
    expect(rebootsOf(world.record, canary, mark)).toEqual([config, config]);
    expect(await differences(world.api, old, world.stack.hostRoot(canary))).toEqual([]);
    expect(await disk(canary)).toEqual(disks.get(canary));
    expect(others.filter((name) => wasEverCordoned(world.record, name, mark))).toEqual([]);
    expect(cordonedBySlipway(world.record)).toEqual([]);
    expect(violationsSince(world, mark)).toEqual([]);
  },
  STORY_MS,
);
