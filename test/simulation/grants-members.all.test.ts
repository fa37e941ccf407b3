/** A node that has a grant is deleted, registered again, moved, or put into two pools at once. */

import { ANNOTATION } from '../../core/names';
import { aStory, CONFIG, HOUR_MS, MINUTE_MS, SECOND_MS, type Story } from './grants-story';
import { shippedSandbox } from './many-seeds';
import { rebootingConfig } from './quiet-world';
import { labelsFor } from './world/pools';

beforeAll(() => shippedSandbox(), 180_000);

jest.setTimeout(120_000);

const MOMENTS = {
  waits: (story: Story) => story.untilWaiting(),
  drains: (story: Story) => story.untilDraining(),
  'is down for its reboot': async (story: Story) => {
    const { name } = await story.untilHost(({ isUp }) => !isUp);
    return name;
  },
} as const;
const EACH = Object.entries(MOMENTS);

describe('a node that is deleted while it', () => {
  it.each(EACH)('%s: its update and its grant end, and the others go on', async (_at, moment) => {
    const story = await aStory();
    const name = await moment(story);
    const { uid } = story.world.cluster.node(name).metadata;

    story.world.deleteNode(name);
    const isGone = () =>
      story.update(name) === undefined && !story.said().grants.some((one) => one.uid === uid);
    await story.until(isGone, 2 * MINUTE_MS);
    story.letGo();
    await story.toTheEnd();

    expect(story.said()).toMatchObject({ done: '3/3', state: 'Completed', grants: [] });
    expect(story.reboots()).toEqual([1, 1, 1]);
    expect(story.mostCordoned).toBe(1);
  });
});

/** Nobody may have seen that it was gone. */
describe.each([50, 5_000])(
  'a node that is registered again under its name within %i ms while it',
  (afterMs) => {
    it.each(EACH)('%s: the new Node has no part in the old grant', async (_at, moment) => {
      const story = await aStory();
      const name = await moment(story);
      const { uid } = story.world.cluster.node(name).metadata;

      story.world.recreateNode(name, afterMs);
      await story.until(() => !story.said().grants.some((one) => one.uid === uid), 20 * SECOND_MS);
      story.letGo();
      await story.toTheEnd();

      expect(story.world.cluster.node(name).metadata.uid).not.toBe(uid);
      expect(new Set(story.configs())).toEqual(new Set([CONFIG[2]]));
      expect(story.reboots()).toEqual([1, 1, 1, 1]);
      expect(story.mostCordoned).toBe(1);
    });
  },
);

function configsOf(pool: string) {
  return [1, 2].map((n) => ({ ...rebootingConfig(n), name: `rendered-${pool}-${n}` }));
}

/** `worker`, `infra` and `edge` with two nodes each. */
function threePools() {
  const pools = ['worker', 'infra', 'edge'].map((name) => ({ name, configs: configsOf(name) }));
  return aStory({ nodes: 6, pools });
}

async function untilIn(story: Story, pool: string, moment: (told: Story) => Promise<string>) {
  const found = await moment(story);
  if (story.grants(pool).includes(found)) return found;
  const isDraining = (name: string) => story.step(name, 'drainNode') !== undefined;
  return story.untilFound(() => story.grants(pool).find(isDraining));
}

describe('a node that has a grant and', () => {
  it('is moved to another pool while it drains goes back, and the other pool rolls it', async () => {
    const story = await threePools();
    const name = await untilIn(story, 'infra', MOMENTS.drains);

    story.world.move(name, 'edge');
    await story.until(() => !story.grants('infra').includes(name), 3 * MINUTE_MS);
    expect(story.host(name).boot).toBe(1);
    story.letGo();
    await story.toTheEnd();

    expect(story.host(name).current).toBe('rendered-edge-2');
    expect(story.said('infra')).toMatchObject({ done: '1/1', grants: [] });
    expect(story.said('edge')).toMatchObject({ done: '3/3', grants: [] });
    expect(story.reboots()).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('is moved while it is down for its reboot is counted by the other pool until it is done', async () => {
    const story = await threePools();
    const isDown = (name: string) => !story.host(name).isUp;
    const name = await story.untilFound(() => story.grants('infra').find(isDown));
    const { run } = story.world.grants('infra').find(({ node }) => node === name) ?? {};

    story.world.move(name, 'edge');
    await story.until(() => story.grants('edge').includes(name), MINUTE_MS);
    expect(story.world.grants('edge')).toContainEqual(expect.objectContaining({ node: name, run }));
    await story.toTheEnd();

    expect(story.host(name).current).toBe('rendered-edge-2');
    // Its operating system is the same in both.
    expect(story.reboots()).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('is put into two custom pools while it drains goes back, and is of no pool until that is put right', async () => {
    const story = await threePools();
    const name = await untilIn(story, 'infra', MOMENTS.drains);

    story.world.cluster.relabel(name, { ...labelsFor('infra'), ...labelsFor('edge') });
    await story.until(() => !story.cordoned().includes(name), 3 * MINUTE_MS);
    story.letGo();
    await story.pass(HOUR_MS);
    expect(story.host(name)).toMatchObject({ boot: 1, current: 'rendered-infra-1' });
    expect(story.update(name)).toBeUndefined();
    expect(story.note(name, ANNOTATION.STATE)).not.toBe('Working');
    for (const pool of ['worker', 'infra', 'edge']) {
      expect(story.grants(pool)).toEqual([]);
      expect(story.said(pool).state).toBe('Completed');
    }
    story.expectSound();

    story.world.move(name, 'infra');
    await story.toTheEnd();
    expect(story.host(name).current).toBe('rendered-infra-2');
    expect(story.reboots()).toEqual([1, 1, 1, 1, 1, 1]);
  });
});
