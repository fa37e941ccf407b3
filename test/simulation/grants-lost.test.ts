/** A process that dies between what it has written and what it does then, and updates that end without a word. */

import { updateNodeId } from '../../core/names';
import type { PoolRolloutStatus } from '../../core/rollout/pool-rollout';
import { aStory, isApplied, isArmed, MINUTE_MS, type Story } from './grants-story';
import { shippedSandbox } from './many-seeds';
import type { RolloutWrite } from './world/cluster';

beforeAll(() => shippedSandbox(), 180_000);

jest.setTimeout(120_000);

/** Whoever writes the first PoolRollout of which it holds dies at that moment, with all that it does. */
function dieOnceWritten({ world }: Story, holds: (status: PoolRolloutStatus) => boolean) {
  const { cluster } = world;
  const hear = cluster.onRolloutWrite;
  const death = { isOver: false };
  const [worker] = world.workers;
  world.onlyWorker = worker;
  cluster.onRolloutWrite = (write: RolloutWrite) => {
    hear(write);
    const { after } = write;
    if (death.isOver || after === undefined || !holds(after)) return;
    death.isOver = true;
    world.note('story', 'the worker that has written this dies');
    worker?.die();
    world.onlyWorker = undefined;
  };
  return death;
}

describe('`step` dies between write and act', () => {
  it('with nothing started: the next step starts what was to be started', async () => {
    const story = await aStory({ begins: false });
    const death = dieOnceWritten(story, ({ counts }) => counts.machines === 4);
    story.world.controllers.begin();
    await story.until(() => death.isOver);
    await story.pass(5_000);
    expect(story.world.temporal.open().map(({ id }) => id)).toEqual(['pool-rollout/worker']);

    await story.until(() => story.update('node-001') !== undefined, MINUTE_MS);
    await story.toTheEnd();
    expect(story.hosts().map(({ name }) => story.runs(name))).toEqual([1, 1, 1, 1]);
    expect(story.reboots()).toEqual([1, 1, 1, 1]);
  });

  it('with a grant written: the update that has it uses it, and nobody gets another one', async () => {
    const story = await aStory({ begins: false });
    const death = dieOnceWritten(story, ({ grants }) => grants.length === 1);
    story.world.controllers.begin();
    await story.until(() => death.isOver);
    const [name = ''] = story.grants();
    expect(story.cordons).toEqual([]);

    await story.until(() => story.cordons.length === 1, 2 * MINUTE_MS);
    expect(story.cordons).toEqual([name]);
    expect(story.grants()).toEqual([name]);
    await story.toTheEnd();

    expect(story.world.granted).toHaveLength(4);
    expect(story.hosts().map(({ name: host }) => story.runs(host))).toEqual([1, 1, 1, 1]);
    expect(story.reboots()).toEqual([1, 1, 1, 1]);
    expect(story.mostCordoned).toBe(1);
  });

  it('with a grant written and the next update not started: the next step starts it', async () => {
    const story = await aStory({ begins: false, pool: { policy: { prepareAhead: 1 } } });
    const isOwed = ({ grants }: PoolRolloutStatus) =>
      grants.length === 1 && story.update('node-002') === undefined;
    const death = dieOnceWritten(story, isOwed);
    story.world.controllers.begin();
    await story.until(() => death.isOver);

    await story.until(() => story.update('node-002') !== undefined, 2 * MINUTE_MS);
    expect(story.host('node-001').boot).toBe(1);
    await story.toTheEnd();
    expect(story.world.granted).toHaveLength(4);
    expect(story.reboots()).toEqual([1, 1, 1, 1]);
  });
});

describe('an update that is terminated while its host', () => {
  it.each([
    ['has applied', isApplied],
    ['has armed', isArmed],
  ])(
    '%s: the next run of the node finishes it, and nobody else goes before',
    async (_is, holds) => {
      const story = await aStory();
      const { name } = await story.untilHost(holds);
      const [before] = story.world.grants('worker');
      expect(before?.node).toBe(name);

      await story.world.terminate(updateNodeId(name));
      await story.until(() => story.update(name) !== undefined, 5 * MINUTE_MS);
      expect(story.cordoned()).toEqual([name]);
      expect(story.grants()).toEqual([name]);
      await story.until(() => story.world.grants('worker')[0]?.run !== before?.run);
      expect(story.grants()).toEqual([name]);
      await story.until(() => !story.cordoned().includes(name));
      // It was cordoned once, and until it was done.
      expect(story.cordons).toEqual([name]);
      expect(story.host(name)).toMatchObject({ boot: 2, current: 'rendered-worker-2' });

      await story.toTheEnd();
      expect(story.runs(name)).toBe(2);
      expect(story.reboots()).toEqual([1, 1, 1, 1]);
      expect(story.mostCordoned).toBe(1);
    },
  );
});
