/**
 * Canary and failure threshold: every worker of this pool fails every config, and an observer
 * counts the disturbed nodes.
 */

import { machineConfig } from '../e2e/support/configs';
import { wrongOnDisk } from '../e2e/support/disk-at-rest';
import { changesOf, cordonedBySlipway, markOf, type Mark } from '../e2e/support/judgements';
import { renderedConfigs } from '../e2e/support/rendered-config';
import {
  CURRENT_CONFIG,
  POOL,
  START_MS,
  startWorld,
  STATE,
  STOP_MS,
  type World,
} from '../e2e/support/world';
import { watchGrants } from './support/given-grants';
import { violationsSince } from './support/rest';
import { tally } from './support/results';
import { freeze } from './support/strike';

const STORY_MS = 240_000;
const POOLS = '/apis/machineconfiguration.openshift.io/v1/machineconfigpools';
const NODES = 8;
const IN_FLIGHT = 4;
/** So long that all nodes are down together. */
const REBOOT_SECONDS = 3;
/** So long that all nodes are up when the hosts resume. */
const FROZEN_MS = REBOOT_SECONDS * 1000 + 500;
const workers = Array.from({ length: NODES }, (_, index) => `worker-${index}`);

let world: World;
let grants: Awaited<ReturnType<typeof watchGrants>>;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 0, worker: NODES },
    maxUnavailable: IN_FLIGHT,
    simulation: {
      stageSeconds: 0,
      applySeconds: 0.2,
      rebootSeconds: REBOOT_SECONDS,
      jitter: 0,
      failures: workers.map((node) => `node=${node},at=verify,times=1000`),
    },
    workloads: [],
  });
  grants = await watchGrants(world.stack.cluster.adminKubeconfig, POOL);
}, START_MS);

afterAll(async () => {
  grants?.stop();
  await world?.stop();
}, STOP_MS);

interface Case {
  readonly canary: number;
  readonly threshold: number | string;
  readonly limit: number;
}

const CASES: readonly Case[] = [
  { canary: 1, threshold: 1, limit: 1 },
  { canary: 1, threshold: 3, limit: 3 },
  { canary: 3, threshold: 2, limit: 2 },
  { canary: 0, threshold: 2, limit: 2 },
  { canary: 0, threshold: '50%', limit: 4 },
];

let serial = 0;

async function pause(paused: boolean): Promise<void> {
  await world.api.call('PATCH', `${POOLS}/${POOL}`, { spec: { paused } });
}

function policy(canary: number, failureThreshold: number | string): object {
  return {
    apiVersion: 'slipway.dev/v1alpha1',
    kind: 'RolloutPolicy',
    metadata: { name: POOL },
    spec: { canary: { nodes: canary }, failureThreshold, verify: { readySeconds: 0 } },
  };
}

async function rollInto({ canary, threshold }: Case): Promise<{ mark: Mark; config: string }> {
  serial += 1;
  // The new threshold is not for the previous config.
  await pause(true);
  await world.stack.manifests.applyObject(policy(canary, threshold));
  const mark = markOf(world.record);
  const config = await world.roll(
    machineConfig('50-fails', { kernelArguments: [`fails=${serial}`] }),
  );
  await pause(false);
  return { mark, config };
}

function disturbed(mark: Mark): readonly string[] {
  return workers.filter((node) =>
    changesOf(world.record, node, mark).some(
      ({ node: now, previous }) =>
        (now.unschedulable && previous?.unschedulable === false) ||
        (previous !== undefined && now.bootID !== previous.bootID),
    ),
  );
}

function mostAtOnce(mark: Mark): number {
  const down = new Set<string>();
  let most = 0;
  for (const { node } of world.record.changes.slice(mark)) {
    if (node.unschedulable || !node.ready) down.add(node.name);
    else down.delete(node.name);
    most = Math.max(most, down.size);
  }
  return most;
}

const down = (node: string) => !world.node(node).ready;
const hasFailed = (since: Mark) => (node: string) =>
  changesOf(world.record, node, since).some(
    ({ node: now, previous }) =>
      now.annotations[STATE] === 'Degraded' && previous?.annotations[STATE] !== 'Degraded',
  );

/** Every disturbed node has failed and is in service again. */
async function untilHalted(mark: Mark, { limit }: Case): Promise<void> {
  await world.until(`${limit} nodes have failed and serve`, () => {
    const hit = disturbed(mark);
    return (
      workers.filter(hasFailed(mark)).length >= limit &&
      hit.every((node) => hasFailed(mark)(node) && world.node(node).ready) &&
      cordonedBySlipway(world.record).length === 0
    );
  });
  // A node with a grant may not be cordoned yet.
  const hasNone = () => world.record.rollout(POOL)?.grants.length === 0;
  await world.until('no node has a grant any more', hasNone);
  const watched = await world.slipway(['rollout', 'status', POOL, '--watch']);
  expect(watched.code).toBe(4);
}

/** Failed nodes were rolled back, and no other was touched. */
async function expectAllOn(config: string): Promise<void> {
  const configs = await renderedConfigs(world.api);
  for (const node of workers) {
    const said = world.node(node).annotations[CURRENT_CONFIG] ?? '';
    const wrong = await wrongOnDisk(configs, said, world.stack.hostRoot(node));
    expect({ node, said, wrong }).toEqual({ node, said: config, wrong: [] });
  }
}

test.each(CASES)(
  'canary $canary, threshold $threshold: counted, with failures at the same instant',
  async (one) => {
    const before = world.node('worker-0').annotations[CURRENT_CONFIG] ?? '';
    const { mark, config } = await rollInto(one);
    const together = one.canary === 0 ? IN_FLIGHT : Math.min(one.canary, IN_FLIGHT);
    // The hosts are frozen while all nodes are down, and all fail at once.
    await world.until(
      `${together} nodes are down at once`,
      () => workers.filter(down).length === together,
    );
    await freeze(world.stack.product.pid(`host-worker/${POOL}`), FROZEN_MS);
    await untilHalted(mark, one);

    // No grant is given once the deciding failure is seen.
    const { failures, grantsAfter, order } = grants.told(config, one.limit);
    expect(failures).toBeGreaterThanOrEqual(one.limit);
    expect({ order, grantsAfter }).toEqual({ order, grantsAfter: [] });

    // The canary is alone, whatever the pool allows.
    expect(mostAtOnce(mark)).toBeLessThanOrEqual(together);
    // Each earlier failure lets at most one more node try.
    const hit = disturbed(mark);
    const most = together + one.limit - 1;
    expect({ order, hit: hit.length, within: hit.length <= most }).toMatchObject({ within: true });
    expect(hit.length).toBeGreaterThanOrEqual(one.limit);
    if (together === 1) expect(hit).toHaveLength(one.limit);

    await expectAllOn(before);
    expect(violationsSince(world, mark)).toEqual([]);
    tally('threshold', {
      victim: 'host-worker',
      blow: 'all fail at once',
      boundary: `canary ${one.canary}, threshold ${one.threshold}: ${hit.length} disturbed`,
    });
  },
  STORY_MS,
);
