/** Nodes that fail on a config: what they cost the others, and what puts them right. */

import { ANNOTATION, updateNodeId } from '../../core/names';
import { aStory, CONFIG, HOUR_MS, isApplied, MINUTE_MS } from './grants-story';
import { shippedSandbox } from './many-seeds';

beforeAll(() => shippedSandbox(), 180_000);

jest.setTimeout(120_000);

const SHORT = {
  reboot: { timeoutSeconds: 300 },
  verify: { readySeconds: 5, reconnectSeconds: 60 },
};

it('a failed node out of service is repaired at maxUnavailable 1 by a corrected config, before all others', async () => {
  const policy = { ...SHORT, failureThreshold: 1 };
  const story = await aStory({ bad: { unitFails: true }, pool: { policy } });
  const host = await story.untilHost(({ journal }) => journal?.goingBack !== undefined);
  host.breakDown();
  await story.until(() => story.world.rollout('worker')?.state === 'Halted', 3 * HOUR_MS);
  await story.until(() => story.update(host.name) === undefined, 3 * HOUR_MS);
  // It could not be taken back: it keeps its cordon, takes the only room, and says why.
  expect(story.cordoned()).toEqual([host.name]);
  expect(story.note(host.name, ANNOTATION.REASON)).toContain('RollbackFailed');
  expect(story.said().counts).toMatchObject({ failed: 1, outOfService: 1, mayBeOut: 1 });
  host.repair();
  await story.pass(5 * MINUTE_MS);
  expect(story.cordons).toEqual([host.name]);

  story.world.render('worker', CONFIG[3] ?? '');
  await story.until(() => !story.cordoned().includes(host.name), HOUR_MS);
  expect(story.cordons).toEqual([host.name]);
  expect(host.current).toBe(CONFIG[3]);
  await story.toTheEnd();

  expect(story.mostCordoned).toBe(1);
  expect(
    story
      .hosts()
      .filter(({ name }) => name !== host.name)
      .map(({ boot }) => boot),
  ).toEqual([2, 2, 2]);
});

describe('canary and threshold, with several that fail at once and a lost update', () => {
  it.each([1, 2, 3])('stop the config where it was tried (seed %i)', async (seed) => {
    const policy = { ...SHORT, canary: { nodes: 3 }, failureThreshold: 2, prepareAhead: 4 };
    const pool = { maxUnavailable: 5, policy };
    const story = await aStory({ seed, nodes: 8, bad: { doesNotBoot: true }, pool });
    const lost = await story.untilHost(isApplied);
    await story.until(() => story.cordoned().length === 3);
    await story.world.terminate(updateNodeId(lost.name));

    const failed = () => story.world.rollout('worker')?.counts.failed ?? 0;
    await story.until(() => failed() >= 1, 2 * HOUR_MS);
    // Three at once; who has failed is no canary any more, and another one tries in its place.
    expect(story.mostCordoned).toBe(3);
    await story.until(() => failed() >= 2, 2 * HOUR_MS);
    const tried = new Set(story.world.granted);
    expect(tried.size).toBeLessThanOrEqual(4);
    await story.until(() => story.grants().length === 0, 2 * HOUR_MS);
    await story.pass(HOUR_MS);

    const rebooted = story.hosts().filter(({ boot }) => boot > 1);
    expect(new Set(rebooted.map(({ name }) => name))).toEqual(tried);
    expect(new Set(rebooted.map(({ boot }) => boot))).toEqual(new Set([2]));
    expect(story.said()).toMatchObject({
      ...{ state: 'Halted', grants: [], counts: { failed: tried.size, outOfService: 0 } },
    });
    expect(tried).toContain(lost.name);
    expect(story.cordoned()).toEqual([]);

    story.world.render('worker', CONFIG[3] ?? '');
    await story.toTheEnd();
    expect(story.mostCordoned).toBeLessThanOrEqual(5);
  });
});

describe('a node never Ready', () => {
  it('on the new config fails, goes back, and stops the rollout', async () => {
    const policy = { ...SHORT, failureThreshold: 1 };
    const story = await aStory({ bad: { neverReady: true }, pool: { policy } });
    await story.until(() => story.world.rollout('worker')?.state === 'Halted', 2 * HOUR_MS);
    await story.pass(HOUR_MS);

    const [node = ''] = story.cordons;
    expect(story.said()).toMatchObject({ grants: [], failed: [{ node }] });
    expect(story.said().failed[0]?.reason).toContain('Ready');
    expect(story.host(node)).toMatchObject({ boot: 3, current: CONFIG[1], os: 'os-1' });
    expect(story.cordons).toEqual([node]);
    expect(story.cordoned()).toEqual([]);
    story.expectSound();

    story.world.render('worker', CONFIG[3] ?? '');
    await story.toTheEnd();
    expect(story.mostCordoned).toBe(1);
  });

  it('from the start takes the only room, is named, and everything goes on when it is', async () => {
    const story = await aStory({ begins: false });
    story.host('node-002').report(false);
    story.world.controllers.begin();
    await story.pass(HOUR_MS);

    expect(story.cordons).toEqual([]);
    expect(story.said()).toMatchObject({
      state: 'Blocked',
      counts: { outOfService: 1, blocked: 1 },
    });
    expect(story.said().blocker).toContain('node-002');
    story.host('node-002').report(true);
    await story.toTheEnd();
    expect(story.reboots()).toEqual([1, 1, 1, 1]);
    expect(story.mostCordoned).toBe(1);
  });
});
