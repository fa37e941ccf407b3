/** People change a pool during its rollout, and workloads block a drain. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RolloutSnapshot } from '../../cli/snapshot';
import type { CliRun } from './support/ask-until';
import { machineConfig, plainFile } from './support/configs';
import { judgeDisks } from './support/disk-at-rest';
import {
  changesOf,
  cordonedBySlipway,
  cordonsOf,
  markOf,
  rebootsOf,
  wasEverCordoned,
} from './support/judgements';
import { hold, letGo, placeStubbornPods } from './support/stubborn';
import {
  CURRENT_CONFIG,
  POOL,
  REASON,
  START_MS,
  startWorld,
  STATE,
  STOP_MS,
  STORY_MS,
  type World,
} from './support/world';

const POOLS = '/apis/machineconfiguration.openshift.io/v1/machineconfigpools';
const CONFIGS = '/apis/machineconfiguration.openshift.io/v1/machineconfigs';
/** The first in the order of zone and name. */
const FIRST = 'worker-0';

let world: World;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 1, worker: 4 },
    policy: {
      canary: { nodes: 1 },
      failureThreshold: 2,
      verify: { readySeconds: 1 },
      // Longer than a drain waits before it names its blocker.
      drain: { timeoutSeconds: 15 },
    },
  });
  await placeStubbornPods(world);
}, START_MS);

afterEach(async () => {
  await letGo(world);
  expect(world.record.violations).toEqual([]);
  await judgeDisks(world.api, world.stack.hostRoot);
});

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

function rebooting(name: string) {
  return machineConfig(name, {
    kernelArguments: [`${name}=1`],
    files: [plainFile(`/etc/${name}`, name)],
  });
}

const STATUS = ['rollout', 'status', POOL, '-o', 'json'];

function snapshotIn({ out }: CliRun): RolloutSnapshot {
  return JSON.parse(out) as RolloutSnapshot;
}

/** Nothing is left on any node, and every node rebooted exactly into these configs, in this order. */
function expectReboots(since: number, configs: readonly string[]): void {
  expect(cordonedBySlipway(world.record)).toEqual([]);
  for (const node of world.workers) {
    expect([node, rebootsOf(world.record, node, since)]).toEqual([node, configs]);
  }
}

test(
  'a budget that never allows blocks one node: it is passed over, named, tried again last, and follows when it may',
  async () => {
    const mark = markOf(world.record);
    await hold(world, [FIRST]);

    const config = await world.roll(rebooting('50-blocked'));
    const others = world.workers.filter((node) => node !== FIRST);
    await world.allUpdatedTo(config, others);

    // It was tried first, and uncordoned each time.
    expect(wasEverCordoned(world.record, FIRST, mark)).toBe(true);
    expect(rebootsOf(world.record, FIRST, mark)).toEqual([]);
    await world.until('the blocked node is in service', () => !world.node(FIRST).unschedulable);
    await world.until('the budget is named on the node', () =>
      JSON.stringify(world.record.machineConfigNode(FIRST)).includes('shop/stubborn'),
    );

    await letGo(world);
    await world.allUpdatedTo(config);
    expectReboots(mark, [config]);
    // Passed over once, and tried again only after all others. Nodes come in the order in which they are prepared.
    const cordons = cordonsOf(world.record, mark);
    const again = cordons.indexOf(FIRST, cordons.indexOf(FIRST) + 1);
    expect([...cordons.slice(0, again)].sort()).toEqual([...world.workers].sort());
  },
  STORY_MS,
);

test(
  'retargeted three times in a row: everybody ends on the last, and who was held up reboots once',
  async () => {
    const mark = markOf(world.record);
    await hold(world, [FIRST]);
    const configs: string[] = [];
    for (const name of ['60-one', '61-two', '62-three', '63-four']) {
      configs.push(await world.roll(rebooting(name)));
      const target = configs.at(-1);
      await world.until(`the drain for ${target} stands still`, () =>
        changesOf(world.record, FIRST, mark).some(
          ({ node }) => node.unschedulable && node.annotations[DESIRED] === target,
        ),
      );
    }
    await letGo(world);

    const [, , , last = ''] = configs;
    await world.allUpdatedTo(last);
    expect(cordonedBySlipway(world.record)).toEqual([]);
    expect(rebootsOf(world.record, FIRST, mark)).toEqual([last]);
    // A node that got its grant beside the first one's slow drain may have had an intermediate config.
    for (const node of world.workers) {
      const reboots = rebootsOf(world.record, node, mark);
      expect([node, reboots]).toEqual([node, configs.filter((config) => reboots.includes(config))]);
    }
  },
  STORY_MS,
);

const DESIRED = 'machineconfiguration.openshift.io/desiredConfig';

test(
  'paused in the middle, changed, resumed: who is drained is given back, nobody starts, and then the newest config',
  async () => {
    const mark = markOf(world.record);
    const others = world.workers.filter((node) => node !== FIRST);
    await hold(world, others);
    const first = await world.roll(rebooting('70-paused'));
    await world.allUpdatedTo(first, [FIRST]);
    await world.until('two more are drained', () => cordonedBySlipway(world.record).length === 2);
    const drained = cordonedBySlipway(world.record);

    expect((await world.slipway(['rollout', 'pause', POOL])).code).toBe(0);
    await world.until('the pool is paused', () => world.record.pool(POOL)?.paused === true);
    const paused = markOf(world.record);
    const config = await world.roll(rebooting('71-changed'));
    await world.until('who was drained is given back', () =>
      drained.every((node) => !world.node(node).unschedulable),
    );
    await letGo(world);
    const rested = await world.slipwayUntil(STATUS, (run) => snapshotIn(run).outOfService === 0);
    expect(snapshotIn(rested)).toMatchObject({ state: 'Paused', updated: 0 });
    expect(cordonsOf(world.record, paused)).toEqual([]);
    expect(world.node(FIRST).annotations[CURRENT_CONFIG]).toBe(first);

    expect((await world.slipway(['rollout', 'resume', POOL])).code).toBe(0);

    await world.allUpdatedTo(config);
    expect(cordonedBySlipway(world.record)).toEqual([]);
    expect(rebootsOf(world.record, FIRST, mark)).toEqual([first, config]);
    for (const node of others) {
      expect([node, rebootsOf(world.record, node, mark)]).toEqual([node, [config]]);
    }
  },
  STORY_MS,
);

test(
  'a person uncordons a node in the middle of its drain: it is let go, named, and the rest goes on',
  async () => {
    const mark = markOf(world.record);
    const before = world.target();
    await hold(world, [FIRST]);
    const config = await world.roll(rebooting('72-uncordoned'));
    await world.until('the node is drained', () => world.node(FIRST).unschedulable);

    await world.api.call('PATCH', `/api/v1/nodes/${FIRST}`, { spec: { unschedulable: false } });
    await world.until(`${FIRST} says who stopped it`, () =>
      /uncordoned/i.test(world.node(FIRST).annotations[REASON] ?? ''),
    );
    expect(world.node(FIRST)).toMatchObject({ unschedulable: false, ready: true });
    expect(world.node(FIRST).annotations[CURRENT_CONFIG]).toBe(before);
    const others = world.workers.filter((node) => node !== FIRST);
    expect((await world.slipway(['node', 'skip', FIRST])).code).toBeLessThan(5);
    await world.allUpdatedTo(config, others);

    await letGo(world);
    expect((await world.slipway(['node', 'retry', FIRST])).code).toBe(0);
    await world.allUpdatedTo(config);
    expectReboots(mark, [config]);
  },
  STORY_MS,
);

test(
  'a person edits a managed file while its node is drained: the update is refused, the node serves, and follows by itself',
  async () => {
    const managed = '/etc/75-managed';
    const before = await world.roll(rebooting('75-managed'));
    await world.allUpdatedTo(before);
    const mark = markOf(world.record);
    const [node = ''] = world.workers.slice(-1);
    const real = join(world.stack.hostRoot(node), managed);
    const right = readFileSync(real);
    await hold(world, [node]);
    const config = await world.roll(rebooting('76-edited'));
    await world.until('the node is drained', () => world.node(node).unschedulable);

    writeFileSync(real, 'edited by a person');
    await letGo(world);

    const reason =
      `ConfigDrift: unexpected on-disk state validating against ${before}: ` +
      `content mismatch for file "${managed}"`;
    await world.until('the node is given back and says why', () => {
      const { unschedulable, annotations } = world.node(node);
      return !unschedulable && annotations[REASON] === reason;
    });
    expect(world.node(node)).toMatchObject({
      ready: true,
      annotations: { [CURRENT_CONFIG]: before, [STATE]: 'Degraded' },
    });
    expect(existsSync(join(world.stack.hostRoot(node), '/etc/76-edited'))).toBe(false);
    expect(rebootsOf(world.record, node, mark)).toEqual([]);
    await world.allUpdatedTo(
      config,
      world.workers.filter((other) => other !== node),
    );

    writeFileSync(real, right);
    await world.allUpdatedTo(config);
    expectReboots(mark, [config]);
  },
  STORY_MS,
);

test(
  'the MachineConfig is deleted in the middle of its rollout: back to the config without it',
  async () => {
    const mark = markOf(world.record);
    const before = world.target();
    await hold(world, world.workers);
    const config = await world.roll(rebooting('73-deleted'));
    await world.until('a node is drained', () => cordonedBySlipway(world.record).length > 0);

    await world.api.call('DELETE', `${CONFIGS}/73-deleted`);
    expect(await world.targetAfter(config)).toBe(before);

    // No node had rebooted yet, so none has to.
    await world.until('every node is given back', () => {
      const nodes = world.workers.map((name) => world.node(name));
      return nodes.every(({ unschedulable, annotations }) => {
        return !unschedulable && annotations[STATE] === 'Done' && annotations[DESIRED] === before;
      });
    });
    await letGo(world);
    await world.allUpdatedTo(before);
    expectReboots(mark, []);
  },
  STORY_MS,
);

test(
  'the MachineConfig is deleted while one node is done and another reboots: both go back, the rest never reboots',
  async () => {
    const mark = markOf(world.record);
    const before = world.target();
    const rolling = await oneDoneAndOneRebooting('77-deleted-late');

    await world.api.call('DELETE', `${CONFIGS}/77-deleted-late`);
    expect(await world.targetAfter(rolling.config)).toBe(before);

    await world.allUpdatedTo(before);
    await letGo(world);
    expect(cordonedBySlipway(world.record)).toEqual([]);
    for (const node of [FIRST, rolling.rebooting]) {
      expect([node, rebootsOf(world.record, node, mark)]).toEqual([node, [rolling.config, before]]);
    }
    for (const node of rolling.held) {
      expect([node, rebootsOf(world.record, node, mark)]).toEqual([node, []]);
    }
  },
  STORY_MS,
);

test(
  'the pool is deleted in the middle of its rollout: its nodes are given back, and a new pool goes on',
  async () => {
    const mark = markOf(world.record);
    await hold(world, world.workers);
    const config = await world.roll(rebooting('74-pool'));
    await world.until('a node is drained', () => cordonedBySlipway(world.record).length > 0);
    const pool = await poolManifest();

    await world.api.call('DELETE', `${POOLS}/${POOL}`);
    await world.until('every node is given back', () => {
      return world.workers.every((name) => !world.node(name).unschedulable);
    });
    expect(cordonedBySlipway(world.record)).toEqual([]);
    for (const node of world.workers) {
      expect([node, rebootsOf(world.record, node, mark)]).toEqual([node, []]);
    }

    await letGo(world);
    await world.stack.manifests.applyObject(pool);
    await world.allUpdatedTo(config);
    expectReboots(mark, [config]);
  },
  STORY_MS,
);

test(
  'the pool is deleted while one node is done and another reboots: that one ends its update, and a new pool goes on with the rest',
  async () => {
    const mark = markOf(world.record);
    const { config, rebooting } = await oneDoneAndOneRebooting('78-pool-late');
    const pool = await poolManifest();

    await world.api.call('DELETE', `${POOLS}/${POOL}`);
    await world.until('every node is in service', () => {
      return world.workers.every((name) => {
        const { unschedulable, ready } = world.node(name);
        return ready && !unschedulable;
      });
    });
    expect(rebootsOf(world.record, rebooting, mark)).toEqual([config]);

    await letGo(world);
    await world.stack.manifests.applyObject(pool);
    await world.allUpdatedTo(config);
    expectReboots(mark, [config]);
  },
  STORY_MS,
);

async function oneDoneAndOneRebooting(name: string): Promise<{
  readonly config: string;
  readonly rebooting: string;
  readonly held: readonly string[];
}> {
  const [, second = '', ...held] = world.workers;
  await hold(world, held);
  const config = await world.roll(rebooting(name));
  await world.allUpdatedTo(config, [FIRST]);
  await world.until(`${second} reboots`, () => !world.node(second).ready);
  return { config, rebooting: second, held };
}

/** As a person would apply it: without the fields that controllers write. */
async function poolManifest(): Promise<object> {
  const { apiVersion, kind, metadata, spec } = await world.api.call<PoolManifest>(
    'GET',
    `${POOLS}/${POOL}`,
  );
  return {
    apiVersion,
    kind,
    metadata: { name: metadata.name, labels: metadata.labels },
    spec: Object.fromEntries(Object.entries(spec).filter(([key]) => key !== 'configuration')),
  };
}

interface PoolManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels: Record<string, string>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}
