/** The control plane of Slipway runs as pods on the machines that it updates. */

import { markOf, rebootsOf, wasEverCordoned } from '../e2e/support/judgements';
import { type Observer, startObserver } from '../observer/observer';
import { until } from '../observer/until';
import { manifestsWith } from '../../tools/stack/manifests';
import { hostConfig, plainFile } from './support/configs';
import { type SelfHosted, startSelfHosted, untilPodsReady } from './support/self-hosted';
import { CURRENT_CONFIG, START_MS, STATE, STOP_MS, STORY_MS } from './support/world';

const POOL = 'worker';
/** Each Deployment has two. */
const PODS = 6;
const WATCH = ['--watch', '--timeout', '8m'];

let world: SelfHosted;
let observer: Observer;

beforeAll(async () => {
  world = await startSelfHosted(3);
  observer = await startObserver({
    kubeconfig: world.cluster.adminKubeconfig,
    nodeSelector: `node-role.kubernetes.io/${POOL}`,
    maxUnavailable: 1,
  });
}, START_MS);

afterAll(async () => {
  observer?.stop();
  await world?.stop();
}, STOP_MS);

const names = (): readonly string[] => world.machines.map(({ name }) => name);
const target = (): string => observer.record.pool(POOL)?.target ?? '';

function allUpdated(): boolean {
  return names().every((name) => {
    const node = observer.record.node(name);
    return node?.annotations[CURRENT_CONFIG] === target() && node.annotations[STATE] === 'Done';
  });
}

test(
  'as pods with their manifests they bring every machine under Slipway',
  async () => {
    await untilPodsReady(world, PODS);
    await world.kubectl('apply', '-f', 'deploy/samples');
    await world.kubectl(
      'wait',
      'mcp',
      POOL,
      '--for=condition=RenderDegraded=False',
      '--timeout=2m',
    );

    await world.slipway('rollout', 'start', POOL, ...WATCH);

    expect(allUpdated()).toBe(true);
  },
  STORY_MS,
);

test(
  'a rollout drains and reboots every machine, also those that run it',
  async () => {
    const mark = markOf(observer.record);
    const before = target();
    const uids = await podUids();
    const config = hostConfig('50-story', { files: [plainFile('/etc/story.conf', 'one\n')] });
    await manifestsWith(world.cluster.adminKubeconfig).applyObject(config);
    await until(observer.record, 'the pool has another config', () => target() !== before);

    await world.slipway('rollout', 'start', POOL, ...WATCH);

    expect(allUpdated()).toBe(true);
    for (const name of names()) {
      expect(wasEverCordoned(observer.record, name, mark)).toBe(true);
      expect(rebootsOf(observer.record, name, mark)).toEqual([target()]);
    }
    // Each of them was evicted.
    expect((await podUids()).filter((uid) => uids.includes(uid))).toEqual([]);
    await untilPodsReady(world, PODS);
    expect(observer.record.violations).toEqual([]);
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

async function podUids(): Promise<readonly string[]> {
  const path = '/api/v1/namespaces/slipway/pods';
  const { items } = await world.cluster.admin.call<{
    items: readonly { metadata: { uid: string } }[];
  }>('GET', path);
  return items.map(({ metadata }) => metadata.uid);
}
