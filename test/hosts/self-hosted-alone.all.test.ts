/** The only machine of a cluster runs Slipway and is updated by it. */

import { markOf, rebootsOf, wasEverCordoned } from '../e2e/support/judgements';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile } from './support/configs';
import { type SelfHosted, startSelfHosted, untilPodsReady } from './support/self-hosted';
import { CURRENT_CONFIG, STATE, STORY_MS } from './support/world';

const PODS = 3;

let world: SelfHosted;

aroundAll(async (lifetime) => {
  world = await startSelfHosted(lifetime, { machines: ['worker-0'], replicas: 1 });
});

test(
  'it reboots once with all of its pods, which go on where they were',
  async () => {
    const { record } = world;
    const [name = ''] = world.machines.map((machine) => machine.name);
    const mark = markOf(record);

    await world.roll(hostConfig('50-story', { files: [plainFile('/etc/story.conf', 'one\n')] }));

    expect(record.node(name)?.annotations).toMatchObject({
      [CURRENT_CONFIG]: world.target(),
      [STATE]: 'Done',
    });
    expect(rebootsOf(record, name, mark)).toEqual([world.target()]);
    expect(wasEverCordoned(record, name, mark)).toBe(false);
    await untilPodsReady(world, PODS);
    expect(record.violations).toEqual([]);
  },
  STORY_MS,
);
