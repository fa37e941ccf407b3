/** A person steers with the installed CLI: pause, skip, resume, cancel, start. */

import type { HistoryItem, RolloutItem, WordItem } from '../../cli/history/items';
import type { RolloutSnapshot } from '../../cli/snapshot';
import { machineConfig, plainFile } from './support/configs';
import { differences } from './support/host-disk';
import {
  changesOf,
  cordonedBySlipway,
  markOf,
  rebootsOf,
  wasEverCordoned,
} from './support/judgements';
import type { CliRun } from './support/ask-until';
import {
  CURRENT_CONFIG,
  POOL,
  START_MS,
  startWorld,
  STOP_MS,
  STORY_MS,
  type World,
} from './support/world';

let world: World;

beforeAll(async () => {
  world = await startWorld({ nodes: { master: 1, worker: 4 } });
}, START_MS);

afterEach(async () => {
  await world.allowEvictions(true);
  // After a story that failed.
  if (world.record.pool(POOL)?.paused === true) await world.slipway(['rollout', 'resume', POOL]);
  expect(world.record.violations).toEqual([]);
});

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

async function rollUntilHeldUp(name: string): Promise<{ config: string; first: string }> {
  await world.allowEvictions(false);
  const config = await world.roll(
    machineConfig(name, {
      kernelArguments: [`${name}=1`],
      files: [plainFile(`/etc/${name}`, name)],
    }),
  );
  await world.until('the first node is cordoned', () => cordonedBySlipway(world.record).length > 0);
  return { config, first: cordonedBySlipway(world.record)[0] ?? '' };
}

const STATUS = ['rollout', 'status', POOL, '-o', 'json'];

function snapshotIn({ out }: CliRun): RolloutSnapshot {
  return JSON.parse(out) as RolloutSnapshot;
}

const HISTORY = ['rollout', 'history', POOL, '-o', 'json'];

function rolloutsIn(run: CliRun): readonly RolloutItem[] {
  return (itemsOf(run) as readonly HistoryItem[]).filter((item) => item.kind === 'rollout');
}

function wordsIn(run: CliRun): readonly WordItem[] {
  return (itemsOf(run) as readonly HistoryItem[]).filter((item) => item.kind === 'word');
}

const containing = (text: string) => expect.stringContaining(text) as string;

function itemsOf(run: CliRun): readonly unknown[] {
  return (JSON.parse(run.out) as { items: readonly unknown[] }).items;
}

function expectQuiet(run: CliRun): void {
  expect(run.out).toBe('');
  expect(run.code).toBe(0);
}

test(
  'a paused pool finishes what it does and starts nothing; a skipped node is left out until retried',
  async () => {
    const mark = markOf(world.record);
    const { config, first } = await rollUntilHeldUp('50-pause');
    const skipped = 'worker-2';

    const paused = await world.slipway(['rollout', 'pause', POOL, '--reason', 'lunch']);
    expectQuiet(paused);
    expect(paused.err).toContain('pool worker paused');
    await world.until('the pool is paused', () => world.record.pool(POOL)?.paused === true);
    const status = await world.slipway(['rollout', 'status', POOL]);
    expect(status.code).toBe(6);
    expect(status.out).toContain('lunch');

    await world.allowEvictions(true);
    await world.allUpdatedTo(config, [first]);
    const rested = await world.slipwayUntil(STATUS, (run) => snapshotIn(run).outOfService === 0);
    expect(snapshotIn(rested)).toMatchObject({ state: 'Paused', updated: 1, outOfService: 0 });
    const others = world.workers.filter((node) => node !== first);
    expect(others.filter((node) => wasEverCordoned(world.record, node, mark))).toEqual([]);
    const again = await world.slipway(['rollout', 'pause', POOL]);
    expectQuiet(again);
    expect(again.err).toBe('pool worker is paused already\n');
    const start = await world.slipway(['rollout', 'start', POOL]);
    expectQuiet(start);
    expect(start.err).toContain('paused, so no node starts: slipway rollout resume worker\n');

    const skip = await world.slipway(['node', 'skip', skipped, '--reason', 'disk is tested']);
    expectQuiet(skip);
    expectQuiet(await world.slipway(['rollout', 'resume', POOL]));
    const rest = world.workers.filter((node) => node !== skipped);
    await world.allUpdatedTo(config, rest);
    expect(wasEverCordoned(world.record, skipped, mark)).toBe(false);
    const { rows } = snapshotIn(await world.slipway(STATUS));
    const row = rows.find(({ node }) => node === skipped);
    expect(row).toMatchObject({ group: 'Held' });
    expect(row?.detail).toContain('disk is tested');

    expectQuiet(await world.slipway(['node', 'retry', skipped, '--reason', 'disk is fine']));
    await world.allUpdatedTo(config);
    const history = await world.slipwayUntil(
      HISTORY,
      (run) => rolloutsIn(run)[0]?.outcome === 'Completed',
    );
    expect(rolloutsIn(history)[0]).toMatchObject({
      ...{ config, counts: { machines: 4, updated: 4, failed: 0, held: 0 } },
      stood: [{ state: 'Paused', reason: containing('lunch') }],
    });
    const by = expect.any(String) as string;
    expect(wordsIn(history).slice(0, 5)).toMatchObject([
      { word: 'retry', node: skipped, by, reason: 'disk is fine' },
      { word: 'resume', by },
      { word: 'skip', node: skipped, by, reason: 'disk is tested' },
      { word: 'start', by },
      { word: 'pause', by, reason: 'lunch' },
    ]);
    for (const node of world.workers) {
      expect([node, rebootsOf(world.record, node, mark)]).toEqual([node, [config]]);
    }
  },
  STORY_MS,
);

test(
  'a cancelled rollout gives its nodes back untouched, stays away, and starts again when told',
  async () => {
    const old = world.target();
    const mark = markOf(world.record);
    const { config, first } = await rollUntilHeldUp('60-cancel');

    // First one node: it is held, and the next node becomes the canary.
    const one = await world.slipway(['node', 'cancel', first, '--reason', 'not this one']);
    expectQuiet(one);
    await world.until(`${first} is given back`, () => !world.node(first).unschedulable);
    await world.until('another node is cordoned', () => cordonedBySlipway(world.record).length > 0);
    const second = cordonedBySlipway(world.record)[0] ?? '';
    expect(second).not.toBe(first);

    const watching = await world.slipwayUntilCtrlC(['rollout', 'status', POOL, '--watch'], second);
    expect(watching).toMatchObject({
      code: 0,
      err: `detached; the rollout of pool ${POOL} goes on\n`,
    });

    const cancel = await world.slipway(['rollout', 'cancel', POOL]);
    expectQuiet(cancel);
    expect(cancel.err).toContain('slipway rollout start worker');
    await world.until(`${second} is given back`, () => !world.node(second).unschedulable);
    for (const node of world.workers) {
      expect(rebootsOf(world.record, node, mark)).toEqual([]);
      expect(world.node(node).annotations[CURRENT_CONFIG]).toBe(old);
      expect(await differences(world.api, old, world.stack.hostRoot(node))).toEqual([]);
    }
    // It ends when the last node is uncordoned, a moment later.
    const history = await world.slipwayUntil(
      HISTORY,
      (run) => rolloutsIn(run)[0]?.outcome === 'Cancelled',
    );
    expect(history.code).toBe(0);
    expect(rolloutsIn(history)[0]).toMatchObject({ pool: POOL, config, counts: { updated: 0 } });
    const ofSecond = itemsOf(await world.slipway(['node', 'history', second, '-o', 'json']));
    expect(ofSecond[0]).toMatchObject({ kind: 'update', config, from: old, outcome: 'cancelled' });
    const ofFirst = await world.slipway(['node', 'history', first], {
      TEMPORAL_ADDRESS: '127.0.0.1:9',
    });
    expect(ofFirst.out).toMatch(
      /^cancelled .* rendered-worker-\S+\n +from rendered-worker-\S+\n +in Draining: .*not this one.*\n(.+\n)+cancel +\S+ ago +by \S+: not this one$/m,
    );

    await world.allowEvictions(true);
    const start = await world.slipway(['rollout', 'start', POOL]);
    expectQuiet(start);
    const rest = world.workers.filter((node) => node !== first);
    await world.allUpdatedTo(config, rest);
    expect(rebootsOf(world.record, first, mark)).toEqual([]);
    expectQuiet(await world.slipway(['node', 'retry', first]));
    await world.allUpdatedTo(config);
    expect(
      changesOf(world.record, first, mark).filter((change) => change.node.unschedulable).length,
    ).toBeGreaterThan(0);
  },
  STORY_MS,
);

describe('what the commands print, and how they end', () => {
  test(
    'plan says what a change costs and in what order, and changes nothing',
    async () => {
      await world.until('the pool is at rest', () => cordonedBySlipway(world.record).length === 0);
      expectQuiet(await world.slipway(['rollout', 'pause', POOL]));
      const old = world.target();
      const mark = markOf(world.record);
      const config = await world.roll(
        machineConfig('70-plan', {
          kernelArguments: ['quiet'],
          files: [plainFile('/etc/plan.conf', 'x')],
        }),
      );

      const plan = await world.slipway(['plan', POOL]);

      expect(plan).toMatchObject({ code: 0, err: '' });
      expect(plan.out).toContain(`pool ${POOL} → ${config}`);
      expect(plan.out).toContain(
        '0 of 4 nodes are on it; at most 2 unavailable at once; all hosts simulated\n',
      );
      expect(plan.out).toContain(`4 nodes from ${old}`);
      expect(plan.out).toContain('+quiet');
      expect(plan.out).toContain('/etc/plan.conf');
      expect(plan.out).toMatch(/order +worker-0 worker-3 worker-1 worker-2/);
      const json = await world.slipway(['plan', POOL, '-o', 'json']);
      expect(JSON.parse(json.out)).toMatchObject({
        pool: POOL,
        target: config,
        order: ['worker-0', 'worker-3', 'worker-1', 'worker-2'],
        groups: [{ from: old, plan: { reboot: true, drain: true } }],
      });
      for (const node of world.workers) {
        expect(wasEverCordoned(world.record, node, mark)).toBe(false);
      }

      // Back to the old config: nothing is left to do, also after a resume.
      await world.api.call(
        'DELETE',
        '/apis/machineconfiguration.openshift.io/v1/machineconfigs/70-plan',
      );
      await world.targetAfter(config);
      expect(world.target()).toBe(old);
      expectQuiet(await world.slipway(['rollout', 'resume', POOL]));
    },
    STORY_MS,
  );

  test(
    'lists and single objects are tables for people and documents for programs',
    async () => {
      await world.until(
        'the pool is updated',
        () => world.record.pool(POOL)?.conditions['Updated']?.status === 'True',
      );
      const [pools, nodes, rollouts, node, watched] = await Promise.all([
        world.slipway(['get', 'pools']),
        world.slipway(['get', 'nodes', '--pool', POOL, '-o', 'json']),
        world.slipway(['get', 'rollouts']),
        world.slipway(['node', 'status', 'worker-0', '-o', 'json']),
        world.slipway(['get', 'nodes', '-o', 'wide', '--watch', '--timeout', '1s']),
      ]);

      expect(pools).toMatchObject({ code: 0, err: '' });
      expect(pools.out.split('\n')[0]).toMatch(/^NAME +CONFIG +UPDATED +UPDATING +DEGRADED/);
      expect(pools.out).toMatch(/^worker +rendered-worker-\S+ +True/m);
      expect(itemsOf(nodes)).toHaveLength(4);
      expect(rollouts.out.split('\n')[0]).toMatch(/^POOL +STATUS +CONFIG/);
      expect(watched).toMatchObject({ code: 0 });
      expect(watched.out).toMatch(/^worker-0 +worker .* no +Simulated host \(Slipway\) +\d\S+$/m);
      expect(watched.err).toMatch(/^simulated hosts: all of \d+; no machines are behind them$/m);
      expect(JSON.parse(node.out)).toMatchObject({
        node: 'worker-0',
        pool: POOL,
        state: 'Done',
        unschedulable: false,
        currentConfig: world.target(),
      });
    },
    STORY_MS,
  );

  test(
    'a rollout is started and watched to its end with one command',
    async () => {
      const start = ['rollout', 'start', POOL, '--watch', '--timeout', '2m'];
      const { code, out, err } = await world.slipway(start);

      expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining(POOL) as unknown });
      // A rollout that ended before the check shows only in the pool's status.
      expect(out).toMatch(/ worker (Completed|Updated) rendered-worker-\S+: 4\/4 updated$/m);
    },
    STORY_MS,
  );

  test(
    'what the cluster knows of a rollout is shown also without Temporal',
    async () => {
      const { code, out } = await world.slipway(['rollout', 'status', POOL], {
        TEMPORAL_ADDRESS: '127.0.0.1:9',
      });

      expect(code).toBe(9);
      expect(out).toContain('4/4 updated');
      expect(out).toContain('Temporal at 127.0.0.1:9 does not answer');
    },
    STORY_MS,
  );

  test(
    'the doctor finds nothing wrong, and then what a process may not do',
    async () => {
      const ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/slipway-server';
      const healthy = await world.slipway(['doctor']);
      expect(healthy).toMatchObject({ code: 0, err: '' });
      expect(healthy.out).toMatch(/^0 problems, 1 warning$/m);
      expect(healthy.out).toContain('namespace slipway: has none of Slipway');

      const { rules } = await world.api.call<{ readonly rules: readonly object[] }>('GET', ROLE);
      await world.api.call('PATCH', ROLE, { rules: rules.slice(1) });
      const ill = await world.slipway(['doctor', '-o', 'json']);
      await world.api.call('PATCH', ROLE, { rules });

      expect(ill.code).toBe(4);
      expect(itemsOf(ill)).toContainEqual({
        level: 'problem',
        object: 'serviceaccount slipway/slipway-server',
        says: 'may not get nodes, list nodes, watch nodes',
        mend: 'kubectl apply -f deploy/rbac',
      });
    },
    STORY_MS,
  );

  test.each([
    [3, ['plan', 'nobody'], {}, /pool nobody not found; there are: .*worker/],
    [3, ['rollout', 'status', 'nobody'], {}, /pool nobody not found/],
    [3, ['node', 'status', 'worker-99'], {}, /node worker-99 not found/],
    [2, ['rollout', 'status'], {}, /missing required argument/],
    [2, ['rollout', 'status', POOL, '--timeout', 'soon'], {}, /expected a duration/],
    [2, ['rolout'], {}, /unknown command 'rolout'/],
    [9, ['get', 'rollouts'], { TEMPORAL_ADDRESS: '127.0.0.1:9' }, /127\.0\.0\.1:9/],
    [2, ['get', 'pools'], { KUBECONFIG: '/nonexistent/config' }, /nonexistent/],
  ])(
    'exit %i: slipway %j',
    async (code, args, env, message) => {
      const run = await world.slipway(args, env);

      expect([run.code, run.out]).toEqual([code, '']);
      expect(run.err).toMatch(message);
      expect(run.err).not.toMatch(/\n {4}at /);
    },
    STORY_MS,
  );

  test(
    'what is no terminal gets no colours and no redrawing',
    async () => {
      const watched = await world.slipway([
        ...['rollout', 'status', POOL, '--watch', '--timeout', '60s'],
      ]);
      const status = await world.slipway(['rollout', 'status', POOL], { FORCE_COLOR: '1' });

      expect([watched.code, status.code]).toEqual([0, 0]);
      expect(`${watched.out}${status.out}`).not.toContain('\u001B');
      expect(status.out).toContain('4/4 updated');
    },
    STORY_MS,
  );
});
