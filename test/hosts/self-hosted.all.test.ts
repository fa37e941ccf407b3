/** The control plane of Slipway runs as pods on the machines that it updates. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { markOf, rebootsOf, wasEverCordoned } from '../e2e/support/judgements';
import { execute } from './execute';
import { hostConfig, plainFile } from './support/configs';
import { type SelfHosted, startSelfHosted, untilPodsReady } from './support/self-hosted';
import { CURRENT_CONFIG, START_MS, STATE, STOP_MS, STORY_MS } from './support/world';

/** Each Deployment has two. */
const PODS = 6;

let world: SelfHosted;

beforeAll(async () => {
  world = await startSelfHosted(3);
}, START_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

const names = (): readonly string[] => world.machines.map(({ name }) => name);

function allUpdated(): boolean {
  return names().every((name) => {
    const node = world.record.node(name);
    return (
      node?.annotations[CURRENT_CONFIG] === world.target() && node.annotations[STATE] === 'Done'
    );
  });
}

test(
  'as pods with their manifests they bring every machine under Slipway',
  async () => {
    await world.begin(PODS);

    expect(allUpdated()).toBe(true);
  },
  STORY_MS,
);

test(
  'a rollout drains and reboots every machine, also those that run it',
  async () => {
    const { record } = world;
    const mark = markOf(record);
    const uids = await podUids();

    await world.roll(hostConfig('50-story', { files: [plainFile('/etc/story.conf', 'one\n')] }));

    expect(allUpdated()).toBe(true);
    for (const name of names()) {
      expect(wasEverCordoned(record, name, mark)).toBe(true);
      expect(rebootsOf(record, name, mark)).toEqual([world.target()]);
    }
    // Each of them was evicted.
    expect((await podUids()).filter((uid) => uids.includes(uid))).toEqual([]);
    await untilPodsReady(world, PODS);
    expect(record.violations).toEqual([]);
  },
  STORY_MS,
);

test(
  'slipway debug runs a command on a machine, says how it ended, and leaves no pod',
  async () => {
    const [name = ''] = names();
    const before = await podUids();

    expect(await world.slipway('debug', name, '--', 'cat', '/etc/hostname')).toBe(`${name}\n`);
    await expect(
      world.slipway('debug', name, '--', 'sh', '-c', 'echo broken >&2; exit 3'),
    ).rejects.toThrow(/exit status 4[^]*broken[^]*3/);

    expect(await podUids()).toEqual(before);
  },
  STORY_MS,
);

test(
  'slipway debug --collect brings the journals of a machine',
  async () => {
    const [name = ''] = names();
    const directory = await mkdtemp(join(tmpdir(), 'slipway-collect-'));
    try {
      const file = join(directory, 'debug.tar.gz');
      await world.slipway('debug', name, '--collect', '--output', file);

      const listed = await execute('tar', ['-tzf', file]);
      expect(listed).toMatch(/journal\//);
      const text = await execute('tar', ['-xzOf', file, '--wildcards', '*host-status.json']);
      expect(JSON.parse(text)).toMatchObject({ node: name, currentConfig: world.target() });
    } finally {
      await rm(directory, { recursive: true });
    }
  },
  STORY_MS,
);

async function podUids(): Promise<readonly string[]> {
  const path = '/api/v1/namespaces/slipway/pods';
  const { items } = await world.cluster.admin.call<{
    items: readonly { metadata: { uid: string } }[];
  }>('GET', path);
  return items.map(({ metadata }) => metadata.uid);
}
