/** A person deletes a PoolRollout, or edits its grants: they are made good from what the Nodes say. */

import { aStory, isApplied, MINUTE_MS, type Story } from './grants-story';
import { shippedSandbox } from './many-seeds';
import type { Grant, PoolRolloutStatus } from '../../core/rollout/pool-rollout';

beforeAll(() => shippedSandbox(), 180_000);

jest.setTimeout(120_000);

/** Two of six nodes are cordoned, and the others wait. */
async function twoOut(): Promise<Story> {
  const story = await aStory({ nodes: 6, pool: { maxUnavailable: 2 } });
  await story.untilHost(isApplied);
  await story.until(() => story.cordoned().length === 2);
  return story;
}

type Edit = (status: PoolRolloutStatus) => PoolRolloutStatus | undefined;

const EDITS: readonly (readonly [string, Edit])[] = [
  ['PoolRollout deleted', () => undefined],
  ['all grants removed', (status) => ({ ...status, grants: [] })],
  ['the first grant removed', (status) => ({ ...status, grants: status.grants.slice(1) })],
];

describe.each(EDITS)('%s by a person', (_what, edit) => {
  it('while two nodes are out: both have their grants again, and no third one goes out', async () => {
    const story = await twoOut();
    const before = story.world.grants('worker');
    const granted = story.world.granted.length;

    story.world.editRollout('worker', edit);
    await story.until(() => story.world.rollout('worker') !== undefined, MINUTE_MS);
    const runs = () => new Set(story.world.grants('worker').map(({ run }) => run));
    await story.until(() => before.every(({ run }) => runs().has(run)), 30_000);
    const regained = story.world.granted.slice(granted);
    expect(before.map(({ node }) => node)).toEqual(expect.arrayContaining(regained));
    await story.toTheEnd();

    expect(story.mostCordoned).toBe(2);
    expect(story.reboots()).toEqual([1, 1, 1, 1, 1, 1]);
    expect(story.said()).toMatchObject({ done: '6/6', grants: [] });
  });

  it('while a granted update has not cordoned: it takes nobody out beyond the limit', async () => {
    const story = await aStory({ begins: false });
    let isGranted = false;
    story.world.atNextGrant = () => {
      isGranted = true;
    };
    story.world.controllers.begin();
    await story.until(() => isGranted);
    expect(story.cordons).toEqual([]);

    story.world.editRollout('worker', edit);
    await story.toTheEnd();

    expect(story.mostCordoned).toBe(1);
    expect(story.reboots()).toEqual([1, 1, 1, 1]);
  });
});

describe('a foreign grant added by a person', () => {
  const foreign = (node: string, uid: string, now: number): Grant => {
    const instant = new Date(now).toISOString();
    return { node, uid, run: 'made-up', startedAt: instant, config: 'x', grantedAt: instant };
  };

  it('for a node that waits: its run is found closed, and the node is updated all the same', async () => {
    const story = await aStory();
    const name = await story.untilWaiting();
    const { uid = '' } = story.world.cluster.node(name).metadata;

    story.world.editRollout('worker', (status) => ({
      ...status,
      grants: [...status.grants, foreign(name, uid, story.world.clock.now)],
    }));
    await story.until(() => !JSON.stringify(story.world.grants('worker')).includes('made-up'));
    await story.toTheEnd();

    expect(story.mostCordoned).toBe(1);
    expect(story.reboots()).toEqual([1, 1, 1, 1]);
  });

  it('for a node that is not there: it is dropped, and keeps nobody waiting', async () => {
    const story = await aStory();
    await story.untilWaiting();

    story.world.editRollout('worker', (status) => ({
      ...status,
      grants: [foreign('nobody', 'nobody', story.world.clock.now), ...status.grants],
    }));
    await story.until(() => !story.grants().includes('nobody'), MINUTE_MS);
    await story.toTheEnd();
    expect(story.reboots()).toEqual([1, 1, 1, 1]);
  });
});
