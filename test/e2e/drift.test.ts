/** Drift is noticed within seconds, blocks updates, and is corrected in three ways. */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { machineConfig, plainFile } from './support/configs';
import { differences } from './support/host-disk';
import { markOf, rebootsOf } from './support/judgements';
import {
  CURRENT_CONFIG,
  POOL,
  readPool,
  REASON,
  START_MS,
  startWorld,
  STATE,
  STOP_MS,
  STORY_MS,
  type World,
} from './support/world';

const PATH = '/etc/story.conf';
const withText = (text: string) => machineConfig('50-story', { files: [plainFile(PATH, text)] });

let world: World;
let victim: string;

beforeAll(async () => {
  // A host with an older policy asks again after a minute.
  world = await startWorld({ patienceMs: 150_000 });
  victim = world.workers[1] ?? '';
  const config = await world.roll(withText('right'));
  await world.allUpdatedTo(config);
}, START_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

const real = (path: string) => join(world.stack.hostRoot(victim), path);
const spoil = () => writeFileSync(real(PATH), 'wrong');
const text = () => readFileSync(real(PATH), 'utf8');
const isDegraded = () => world.node(victim).annotations[STATE] === 'Degraded';

function says(status: 'True' | 'False'): boolean {
  return world.record.machineConfigNode(victim)?.conditions['NodeDegraded']?.status === status;
}

async function drifts(): Promise<void> {
  spoil();
  await world.until(`${victim} is Degraded`, isDegraded);
}

async function reasonsOfEvents(node: string): Promise<readonly string[]> {
  const selector = `involvedObject.kind=Node,involvedObject.uid=${node}`;
  const path = `/api/v1/namespaces/default/events?fieldSelector=${encodeURIComponent(selector)}`;
  const { items } = await world.api.call<{ items: { reason: string }[] }>('GET', path);
  return items.map(({ reason }) => reason);
}

/** The rollout that the drift starts must have read the pool once before it knows the node. */
async function retryOf(node: string): Promise<void> {
  const run = await world.slipwayUntil(
    ['node', 'retry', node],
    ({ err }) => !err.includes('neither failed nor held'),
  );
  expect(run).toMatchObject({ code: 0 });
}

test(
  'is shown on the node, the pool and the command line, and goes when it is put back',
  async () => {
    const config = world.target();
    await drifts();

    expect(world.node(victim).annotations[REASON]).toBe(
      `unexpected on-disk state validating against ${config}: content mismatch for file "${PATH}"`,
    );
    await world.until('the pool counts it', () => {
      const { status } = world.record.pool(POOL)?.conditions['NodeDegraded'] ?? {};
      return status === 'True';
    });
    expect((await readPool(world.api, POOL)).status.degradedMachineCount).toBe(1);
    await world.until('its MachineConfigNode says so, too', () => says('True'));
    const shown = await world.slipway(['drift', victim]);
    expect(shown.code).toBe(4);
    expect(shown.out).toContain(`${PATH}   content`);
    expect(world.node(victim).unschedulable).toBe(false);
    expect(await reasonsOfEvents(victim)).toContain('ConfigDriftDetected');

    writeFileSync(real(PATH), 'right');
    await world.allUpdatedTo(config);
    await world.until('its MachineConfigNode says so no more', () => says('False'));
    expect((await world.slipway(['drift', victim])).code).toBe(0);
  },
  STORY_MS,
);

test(
  'has an update refused, which is tried again by itself once it is put back',
  async () => {
    const before = world.target();
    const mark = markOf(world.record);
    await drifts();

    const config = await world.roll(withText('next'));
    const others = world.workers.filter((node) => node !== victim);
    await world.allUpdatedTo(config, others);
    await world.until(`${victim} has refused`, () =>
      (world.node(victim).annotations[REASON] ?? '').startsWith('ConfigDrift'),
    );
    expect(world.node(victim).annotations[CURRENT_CONFIG]).toBe(before);
    expect(rebootsOf(world.record, victim, mark)).toEqual([]);

    writeFileSync(real(PATH), 'right');

    await world.allUpdatedTo(config);
    expect(await differences(world.api, config, world.stack.hostRoot(victim))).toEqual([]);
  },
  STORY_MS,
);

test(
  'is written over by an update with the force file, which is used up',
  async () => {
    const config = world.target();
    const right = text();
    const mark = markOf(world.record);
    await drifts();
    const force = real('/run/machine-config-daemon-force');
    mkdirSync(dirname(force), { recursive: true });
    writeFileSync(force, '');

    await retryOf(victim);

    await world.until('the machine has rebooted', () =>
      rebootsOf(world.record, victim, mark).includes(config),
    );
    await world.allUpdatedTo(config);
    expect(existsSync(force)).toBe(false);
    expect(text()).toBe(right);
    expect(world.record.violations).toEqual([]);
  },
  STORY_MS,
);

test(
  'is repaired by the host alone when the pool wants that and the path needs no reboot',
  async () => {
    const right = text();
    const config = world.target();
    const policies: object = {
      apiVersion: 'operator.openshift.io/v1',
      kind: 'MachineConfiguration',
      metadata: { name: 'cluster' },
      spec: { nodeDisruptionPolicy: { files: [{ path: PATH, actions: [{ type: 'None' }] }] } },
    };
    await world.stack.manifests.applyObject(policies);
    await world.api.call('PATCH', `/apis/slipway.dev/v1alpha1/rolloutpolicies/${POOL}`, {
      spec: { drift: 'Repair' },
    });

    spoil();

    await world.until(`${victim} is repaired`, () => text() === right);
    await world.allUpdatedTo(config);
    const shown = await world.slipway(['drift', victim]);
    expect(shown).toMatchObject({ code: 0, out: expect.stringContaining(`REPAIRED`) as string });
  },
  STORY_MS,
);
