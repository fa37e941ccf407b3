/** An update is stopped, held or overtaken by another config, and its grant goes to another node. */

import { ANNOTATION, updateNodeId } from '../../core/names';
import { aStory, CONFIG, isArmed, MINUTE_MS } from './grants-story';
import { shippedSandbox } from './many-seeds';

beforeAll(() => shippedSandbox(), 180_000);

jest.setTimeout(120_000);

it('cancel while waiting for the grant: the node is left alone, and the others go on', async () => {
  const story = await aStory();
  const name = await story.untilBehind();

  story.world.temporal.cancel(updateNodeId(name));
  await story.until(() => story.update(name) === undefined);
  expect(story.cordons).not.toContain(name);
  expect(story.grants()).not.toContain(name);
  await story.pass(60 * MINUTE_MS);

  expect(story.note(name, ANNOTATION.HELD_FOR)).toBe(CONFIG[2]);
  expect(story.said()).toMatchObject({
    ...{ done: '3/4', grants: [], counts: { held: 1, outOfService: 0 } },
    held: [{ node: name, reason: 'a person cancelled the update in Temporal' }],
  });
  expect(story.host(name).boot).toBe(1);
  expect(story.mostCordoned).toBe(1);

  story.world.ask('worker', 'retryNode', { node: name });
  await story.toTheEnd();
  expect(story.reboots()).toEqual([1, 1, 1, 1]);
});

it('retarget while draining: the drained node goes back into service, and all take the new config', async () => {
  const story = await aStory({ pool: { maxUnavailable: 2 } });
  const name = await story.untilDraining();

  story.world.render('worker', CONFIG[3] ?? '');
  await story.until(() => !story.cordoned().includes(name));
  expect(story.note(name, ANNOTATION.CURRENT_CONFIG)).toBe(CONFIG[1]);
  expect(story.note(name, ANNOTATION.REASON) ?? '').not.toContain('fail');
  story.letGo();

  await story.toTheEnd();
  // Nobody has booted into the config of before.
  expect(story.reboots()).toEqual([1, 1, 1, 1]);
  expect(new Set(story.configs())).toEqual(new Set([CONFIG[3]]));
  expect(story.mostCordoned).toBeLessThanOrEqual(2);
});

describe.each([
  ['hold', 'cancelNode', 'cancelled: hardware fault'],
  ['skip', 'skipNode', 'skipped: hardware fault'],
])('%s while the update runs', (_what, word, reason) => {
  it('gives a node that drains back, and its grant to the next one', async () => {
    const story = await aStory();
    const name = await story.untilDraining();

    story.world.ask('worker', word, { node: name, reason: 'hardware fault' });
    await story.until(() => !story.cordoned().includes(name));
    story.letGo();
    await story.pass(60 * MINUTE_MS);

    expect(story.host(name)).toMatchObject({ boot: 1, current: CONFIG[1], journal: undefined });
    expect(story.said()).toMatchObject({
      ...{ done: '3/4', grants: [], held: [{ node: name, reason }] },
    });
    expect(story.cordoned()).toEqual([]);
    expect(story.mostCordoned).toBe(1);

    story.world.ask('worker', 'retryNode', { node: name });
    await story.toTheEnd();
    expect(story.reboots()).toEqual([1, 1, 1, 1]);
  });

  it('lets a node finish that is past its point of no return', async () => {
    const story = await aStory();
    const { name } = await story.untilHost(isArmed);

    story.world.ask('worker', word, { node: name, reason: 'hardware fault' });
    await story.toTheEnd();

    expect(story.reboots()).toEqual([1, 1, 1, 1]);
    expect(story.said()).toMatchObject({ state: 'Completed', grants: [], held: [] });
  });
});
