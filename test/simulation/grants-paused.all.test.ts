/** A paused pool finishes what is half done, whatever was lost, and begins nothing. */

import { updateNodeId } from '../../core/names';
import { aStory, HOUR_MS, isApplied, MINUTE_MS, type Story } from './grants-story';
import { shippedSandbox } from './many-seeds';

beforeAll(() => shippedSandbox(), 180_000);

jest.setTimeout(120_000);

/** Two of six are out, one of which has applied. */
async function paused(): Promise<Story> {
  const story = await aStory({ nodes: 6, pool: { maxUnavailable: 2 } });
  await story.until(() => story.cordoned().length === 2 && story.hosts().some(isApplied));
  story.world.ask('worker', 'pause', { reason: 'change freeze' });
  await story.until(() => story.world.cluster.pool('worker').spec.paused === true);
  return story;
}

const LOSSES: readonly (readonly [string, (story: Story) => Promise<void>])[] = [
  ['nothing is lost', () => Promise.resolve()],
  [
    'their updates are lost',
    async (story) => {
      for (const name of story.cordoned()) await story.world.terminate(updateNodeId(name));
    },
  ],
  ["Temporal's database is lost", (story) => story.world.loseTemporal()],
];

describe('a paused pool with half-done nodes', () => {
  it.each(LOSSES)('finishes both and takes no third one, when %s', async (_what, lose) => {
    const story = await paused();
    const halfDone = story.cordoned();
    const granted = story.grants();

    await lose(story);
    await story.until(() => story.cordoned().length === 0, 2 * HOUR_MS);
    await story.pass(HOUR_MS);

    expect(story.cordons).toEqual(granted);
    expect(new Set(halfDone)).toEqual(new Set(granted));
    const done = story.hosts().filter(({ current }) => current === 'rendered-worker-2');
    expect(done.map(({ name }) => name)).toEqual([...halfDone].sort());
    expect(story.said()).toMatchObject({ state: 'Paused', done: '2/6', grants: [] });
    expect(story.said().blocker).toContain('change freeze');
    story.expectSound();

    story.world.unpause('worker');
    await story.pass(MINUTE_MS);
    await story.toTheEnd();
    expect(story.reboots()).toEqual([1, 1, 1, 1, 1, 1]);
    expect(story.mostCordoned).toBe(2);
  });
});
