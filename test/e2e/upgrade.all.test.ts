/**
 * Slipway itself is replaced in the middle of a rollout, by a build that takes its steps in another order, and back:
 * rollouts and updates fail at once, and the next ones take up what they left.
 */

import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { poolRolloutId, UPDATE_TAINT, updateNodeId } from '../../core/names';
import { repositoryRoot } from '../../tools/repository-root';
import { PRODUCT_NAMES } from '../../tools/stack/product';
import { bundleInAnotherOrder } from '../workflow/support/another-order';
import { machineConfig, plainFile } from './support/configs';
import { differences } from './support/host-disk';
import { cordonedBySlipway, markOf, rebootsOf, unverified } from './support/judgements';
import {
  CURRENT_CONFIG,
  MAX_UNAVAILABLE,
  POOL,
  START_MS,
  startWorld,
  STOP_MS,
  STORY_MS,
  type World,
} from './support/world';
import { withTemporalClient } from '../../tools/temporal';

/** All of a rollout in one wait, on a busy machine. */
const ROLLOUT_MS = 180_000;
const PROGRAM = join('dist', 'cli', 'main.js');
const BUNDLE = join('dist', 'workflow-bundle.js');
/** Of dist/: what `slipway` and its processes consist of. */
const FOLDERS = [
  'activities',
  'adapters',
  'cli',
  'controllers',
  'core',
  'host',
  'process',
  'server',
  'workers',
  'workflows',
];
const POOLS = [POOL, 'master'];
const ALL = [...PRODUCT_NAMES, ...POOLS.map((pool) => `host-worker/${pool}`)];

let other: string;
let world: World;

beforeAll(async () => {
  other = await mkdtemp(join(tmpdir(), 'slipway-other-order-'));
  await makeOtherBuild(other);
  world = await startWorld({
    nodes: { master: 1, worker: 5 },
    zones: 1,
    patienceMs: ROLLOUT_MS,
    // Long enough to be found rebooting.
    simulation: { stageSeconds: 0.2, applySeconds: 0.2, rebootSeconds: 4, jitter: 0, failures: [] },
  });
}, START_MS);

afterAll(async () => {
  await world?.stop();
  await rm(other, { recursive: true, force: true });
}, STOP_MS);

test.each([
  ['by a build with another order of steps', () => other],
  ['by the one before again', repositoryRoot],
])(
  'everything is replaced in the middle of a rollout, %s',
  async (_how, build) => {
    const mark = markOf(world.record);
    const name = `upgrade-${mark}`;
    const config = await world.roll(
      machineConfig('50-upgrade', {
        kernelArguments: [`upgrade=${name}`],
        files: [plainFile('/etc/upgrade', name)],
      }),
    );
    await world.until(
      'a node is done, and another one begins to reboot',
      () => doneWith(config).length > 0 && rebooting() !== undefined,
    );
    const lost = [poolRolloutId(POOL), updateNodeId(rebooting() ?? '')];
    const runs = await runIdsOf(lost);

    await swapAllTo(build());
    expect(programs()).toEqual([join(build(), PROGRAM)]);

    await world.until(
      `every worker is on ${config} and in service`,
      () =>
        doneWith(config).length === world.workers.length &&
        cordonedBySlipway(world.record).length === 0 &&
        world.record.nodes.every(({ ready, unschedulable }) => ready && !unschedulable),
    );
    for (const node of world.workers) {
      expect([node, rebootsOf(world.record, node, mark)]).toEqual([node, [config]]);
      expect(unverified(world.record, node, config, mark)).toEqual([]);
      expect(await differences(world.api, config, world.stack.hostRoot(node))).toEqual([]);
      await expectUntainted(node);
    }
    expect(world.record.violations).toEqual([]);
    expect(world.record.maxUnavailableSeen).toBeLessThanOrEqual(MAX_UNAVAILABLE);
    // Neither could go on: others have ended what they began.
    expect(await statusOf(lost, runs)).toEqual(['FAILED', 'FAILED']);
  },
  STORY_MS + ROLLOUT_MS,
);

/** The same processes; only the order of some steps is another one. */
async function makeOtherBuild(directory: string): Promise<void> {
  const root = repositoryRoot();
  await Promise.all(
    FOLDERS.map((name) =>
      cp(join(root, 'dist', name), join(directory, 'dist', name), { recursive: true }),
    ),
  );
  await cp(join(root, 'package.json'), join(directory, 'package.json'));
  await symlink(join(root, 'node_modules'), join(directory, 'node_modules'));
  await writeFile(join(directory, BUNDLE), await bundleInAnotherOrder());
}

/** The node that went down last, unless it is back. */
function rebooting(): string | undefined {
  const last = world.record.changes.at(-1);
  return last?.node.ready === false && last.previous?.ready === true ? last.node.name : undefined;
}

function doneWith(config: string): readonly string[] {
  return world.workers.filter((node) => world.node(node).annotations[CURRENT_CONFIG] === config);
}

async function expectUntainted(name: string): Promise<void> {
  const { spec } = await world.api.call<{
    readonly spec: { readonly taints?: readonly { readonly key: string }[] };
  }>('GET', `/api/v1/nodes/${name}`);
  // Kubernetes' own, of a node that has just come back, goes a moment later.
  const ours = (spec.taints ?? []).filter(({ key }) => key === UPDATE_TAINT.key);
  expect([name, ours]).toEqual([name, []]);
}

/** All of Slipway is away for a moment, in order, as when it is upgraded. */
async function swapAllTo(build: string): Promise<void> {
  const { product } = world.stack;
  await Promise.all(ALL.map((name) => product.end(name)));
  product.useBuild(build);
  await Promise.all([
    ...PRODUCT_NAMES.map((name) => product.start(name)),
    ...POOLS.map((pool) => product.restartHosts(pool)),
  ]);
}

/** What all processes of Slipway run, each program once. */
function programs(): readonly string[] {
  const { product } = world.stack;
  const found = ALL.map((name) => {
    const [, program = ''] = readFileSync(`/proc/${product.pid(name)}/cmdline`, 'utf8').split('\0');
    return program;
  });
  return [...new Set(found)];
}

async function runIdsOf(workflowIds: readonly string[]): Promise<readonly string[]> {
  return withTemporalClient(world.stack.temporal, async ({ workflow }) => {
    const found = await Promise.all(workflowIds.map((id) => workflow.getHandle(id).describe()));
    return found.map(({ runId }) => runId);
  });
}

async function statusOf(
  workflowIds: readonly string[],
  runIds: readonly string[],
): Promise<readonly string[]> {
  return withTemporalClient(world.stack.temporal, async ({ workflow }) => {
    const found = await Promise.all(
      workflowIds.map((id, index) => workflow.getHandle(id, runIds[index]).describe()),
    );
    return found.map(({ status }) => status.name);
  });
}
