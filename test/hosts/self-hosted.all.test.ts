/** docs/install.md and docs/uninstall.md, word by word: Slipway runs as pods on the machines that it updates. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { markOf, rebootsOf, wasEverCordoned } from '../e2e/support/judgements';
import { execute } from './execute';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile } from './support/configs';
import { leftOnMachine } from './support/left-on-machine';
import { type SelfHosted, startSelfHosted, untilPodsReady } from './support/self-hosted';
import { CURRENT_CONFIG, STATE, STORY_MS } from './support/world';

/** Each Deployment has two. */
const PODS = 6;
const WORKERS = ['worker-0', 'worker-1'];

let world: SelfHosted;

aroundAll(async (lifetime) => {
  world = await startSelfHosted(lifetime, { machines: ['control-plane-0', ...WORKERS] });
});

function allUpdated(): boolean {
  return WORKERS.every((name) => {
    const node = world.record.node(name);
    return (
      node?.annotations[CURRENT_CONFIG] === world.target() && node.annotations[STATE] === 'Done'
    );
  });
}

test(
  'after the commands of docs/install.md every machine is under Slipway',
  async () => {
    await untilPodsReady(world, PODS);
    expect(allUpdated()).toBe(true);
    const master = await world.kubectl('get', 'node', 'control-plane-0', '-o', 'yaml');
    expect(master).toContain('machineconfiguration.openshift.io/state: Done');
  },
  STORY_MS,
);

test(
  'a rollout drains and reboots every machine of its pool, also those that run it',
  async () => {
    const { record } = world;
    const mark = markOf(record);
    const uids = await podUids(WORKERS);

    await world.roll(hostConfig('50-story', { files: [plainFile('/etc/story.conf', 'one\n')] }));

    expect(allUpdated()).toBe(true);
    for (const name of WORKERS) {
      expect(wasEverCordoned(record, name, mark)).toBe(true);
      expect(rebootsOf(record, name, mark)).toEqual([world.target()]);
    }
    // Each of them was evicted.
    expect(uids.length).toBeGreaterThan(0);
    expect((await podUids()).filter((uid) => uids.includes(uid))).toEqual([]);
    await untilPodsReady(world, PODS);
    expect(record.violations).toEqual([]);
  },
  STORY_MS,
);

test(
  'slipway debug runs a command on a machine, says how it ended, and leaves no pod',
  async () => {
    const [name = ''] = WORKERS;
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
    const [name = ''] = WORKERS;
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

test(
  'after the commands of docs/uninstall.md nothing of Slipway is left',
  async () => {
    await world.uninstall();

    for (const machine of world.machines) {
      expect(await leftOnMachine(machine)).toEqual('');
      expect((await machine.run('systemctl', 'is-active', 'kubelet.service')).out).toBe('active\n');
    }
    const kinds = 'namespaces,crds,clusterroles,clusterrolebindings,priorityclasses';
    const names = (await world.kubectl('get', kinds, '-o', 'name')).split('\n');
    expect(names.filter((name) => /slipway|machineconfig/.test(name))).toEqual([]);
    const nodes = await world.kubectl(
      ...['get', 'nodes', '-o', 'jsonpath={.items[*].metadata} {.items[*].spec}'],
    );
    expect(nodes).not.toMatch(/slipway|machineconfiguration|unschedulable|UpdateInProgress/);
  },
  STORY_MS,
);

/** @param nodes - default: all */
async function podUids(nodes?: readonly string[]): Promise<readonly string[]> {
  const path = '/api/v1/namespaces/slipway/pods';
  const { items } = await world.cluster.admin.call<{
    items: readonly { metadata: { uid: string }; spec: { nodeName?: string } }[];
  }>('GET', path);
  return items
    .filter(({ spec }) => nodes === undefined || nodes.includes(spec.nodeName ?? ''))
    .map(({ metadata }) => metadata.uid);
}
