/** Processes are killed or absent, at the start or in the middle; the rollout completes. */

import type { ProductName } from '../../tools/stack/stack';
import { machineConfig, plainFile } from './support/configs';
import { differences } from './support/host-disk';
import { cordonedBySlipway, markOf, rebootsOf, unverified } from './support/judgements';
import { endOf, linesOf, untilLogged, type LogLine } from './support/logs';
import { POOL, START_MS, startWorld, STOP_MS, STORY_MS, type World } from './support/world';

let world: World;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 1, worker: 3 },
    temporalDatabase: true,
    // Slow enough to be killed in the middle.
    simulation: {
      stageSeconds: 0.1,
      applySeconds: 1.5,
      rebootSeconds: 0.5,
      jitter: 0,
      failures: [],
    },
  });
}, START_MS);

afterEach(async () => {
  await world.allowEvictions(true);
});

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

const change = (name: string) =>
  machineConfig(name, { kernelArguments: [`${name}=1`], files: [plainFile(`/etc/${name}`, name)] });

async function expectCompleted(config: string, mark: number): Promise<void> {
  await world.allUpdatedTo(config);
  for (const node of world.workers) {
    expect([node, rebootsOf(world.record, node, mark)]).toEqual([node, [config]]);
    expect(unverified(world.record, node, config, mark)).toEqual([]);
    expect(await differences(world.api, config, world.stack.hostRoot(node))).toEqual([]);
  }
  expect(cordonedBySlipway(world.record)).toEqual([]);
  expect(world.record.violations).toEqual([]);
}

test(
  'the cluster worker is killed in the middle of a drain',
  async () => {
    const { product } = world.stack;
    const mark = markOf(world.record);
    await world.allowEvictions(false);
    const config = await world.roll(change('50-drain'));
    await world.until('a node is drained', () => cordonedBySlipway(world.record).length === 1);

    await product.kill('cluster-worker');
    await product.start('cluster-worker');
    await world.allowEvictions(true);

    await expectCompleted(config, mark);
  },
  STORY_MS,
);

function isApplying(node: string): boolean {
  return world.record.machineConfigNode(node)?.conditions['AppliedFiles']?.status === 'Unknown';
}

test(
  'Temporal and the API server go away in the middle and come back',
  async () => {
    const { cluster, temporal } = world.stack;
    const mark = markOf(world.record);
    const config = await world.roll(change('70-away'));
    await world.until('a host applies', () => world.workers.some(isApplying));

    await temporal.kill();
    await cluster.killApiServer();
    await Promise.all([temporal.restart(), cluster.startApiServer()]);

    await expectCompleted(config, mark);
  },
  STORY_MS,
);

test(
  'processes that start before their servers say once that they wait, and go on when they come',
  async () => {
    const { product, cluster, temporal } = world.stack;
    const names: readonly ProductName[] = ['controllers', 'cluster-worker', 'server'];
    for (const name of names) await product.kill(name);
    await product.kill(`host-worker/${POOL}`);
    await temporal.kill();
    await cluster.killApiServer();

    const places = new Map(names.map((name) => [name, endOf(product.logFile(name))]));
    const starting = names.map((name) => product.start(name));
    await Promise.all(
      names.map((name) => untilLogged(product.logFile(name), places.get(name) ?? 0, saysItWaits)),
    );
    await cluster.startApiServer();
    await temporal.restart();
    await Promise.all([...starting, product.restartHosts(POOL)]);

    for (const name of names) {
      const waits = linesOf(product.logFile(name), places.get(name)).filter(saysItWaits);
      const said = waits.map(({ msg, server }) => `${msg}: ${String(server)}`);
      expect([name, said]).toEqual([name, [...new Set(said)]]);
    }
    const mark = markOf(world.record);
    await expectCompleted(await world.roll(change('80-start')), mark);
  },
  STORY_MS,
);

/** Not for every attempt, which would flood the log. */
function saysItWaits({ msg }: LogLine): boolean {
  return msg.includes('waiting for');
}
