/** The only machine of a cluster runs Slipway and is updated by it. */

import { markOf, rebootsOf, wasEverCordoned } from '../e2e/support/judgements';
import { type Observer, startObserver } from '../observer/observer';
import { until } from '../observer/until';
import { manifestsWith } from '../../tools/stack/manifests';
import { hostConfig, plainFile } from './support/configs';
import { type SelfHosted, startSelfHosted, untilPodsReady } from './support/self-hosted';
import { CURRENT_CONFIG, START_MS, STATE, STOP_MS, STORY_MS } from './support/world';

const POOL = 'worker';
/** Of each Deployment the second one finds no other node for its ports. */
const PODS = 3;
const WATCH = ['--watch', '--timeout', '8m'];

let world: SelfHosted;
let observer: Observer;

beforeAll(async () => {
  world = await startSelfHosted(1);
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

test(
  'it reboots once with all of its pods, which go on where they were',
  async () => {
    const { record } = observer;
    const target = (): string => record.pool(POOL)?.target ?? '';
    const [name = ''] = world.machines.map((machine) => machine.name);
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
    const [mark, before] = [markOf(record), target()];
    const config = hostConfig('50-story', { files: [plainFile('/etc/story.conf', 'one\n')] });
    await manifestsWith(world.cluster.adminKubeconfig).applyObject(config);
    await until(record, 'the pool has another config', () => target() !== before);

    await world.slipway('rollout', 'start', POOL, ...WATCH);

    expect(record.node(name)?.annotations).toMatchObject({
      [CURRENT_CONFIG]: target(),
      [STATE]: 'Done',
    });
    expect(rebootsOf(record, name, mark)).toEqual([target()]);
    expect(wasEverCordoned(record, name, mark)).toBe(false);
    await untilPodsReady(world, PODS);
    expect(record.violations).toEqual([]);
  },
  STORY_MS,
);
