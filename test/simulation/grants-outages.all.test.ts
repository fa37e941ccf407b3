/** The API server, or a host, is away for long. */

import { ANNOTATION } from '../../core/names';
import { aStory, CONFIG, HOUR_MS, isApplied, MINUTE_MS, type Story } from './grants-story';
import { shippedSandbox } from './many-seeds';

beforeAll(() => shippedSandbox(), 180_000);

jest.setTimeout(120_000);

const MOMENTS: readonly (readonly [string, (story: Story) => Promise<unknown>])[] = [
  ['the first update waits for its grant', (story) => story.untilWaiting()],
  ['the first grant is given', (story) => story.until(() => story.world.granted.length === 1)],
  ['a node drains', (story) => story.until(() => story.cordoned().length === 1)],
  ['a host has applied', (story) => story.untilHost(isApplied)],
  ['a machine is down for its reboot', (story) => story.untilHost(({ isUp }) => !isUp)],
  ['a host has verified', (story) => story.untilHost(({ journal }) => journal?.verified === true)],
];

describe('the API server is away for an hour', () => {
  it.each(MOMENTS)(
    'from when %s: nothing fails, and each node reboots once',
    async (_at, moment) => {
      const story = await aStory({ pool: { policy: { failureThreshold: 1 } } });
      await moment(story);
      const cordons = story.cordons.length;

      story.world.cluster.isAway = true;
      await story.pass(HOUR_MS);
      expect(story.cordons).toHaveLength(cordons);
      story.world.cluster.isAway = false;
      await story.toTheEnd();

      expect(story.reboots()).toEqual([1, 1, 1, 1]);
      expect(story.mostCordoned).toBe(1);
      expect(story.said()).toMatchObject({
        state: 'Completed',
        done: '4/4',
        grants: [],
        failed: [],
      });
      expect(story.lastLines(100_000).filter((line) => line.includes('Degraded'))).toEqual([]);
    },
  );
});

describe('a host that is away', () => {
  it('before its update holds up no other, and is updated when it is back and told', async () => {
    const story = await aStory({ begins: false });
    const away = story.host('node-001');
    away.setCut(true, false);
    story.world.controllers.begin();
    const areDone = () =>
      story.hosts().every((host) => host === away || host.current === CONFIG[2]);
    await story.until(areDone, HOUR_MS);
    await story.pass(HOUR_MS);

    expect(away).toMatchObject({ boot: 1, current: CONFIG[1] });
    expect(story.cordons).not.toContain(away.name);
    expect(story.cordoned()).toEqual([]);
    expect(story.said()).toMatchObject({ done: '3/4', grants: [], failed: [{ node: away.name }] });
    expect(story.said().failed[0]?.reason).toContain('HostUnreachable');
    expect(story.note(away.name, ANNOTATION.STATE)).toBe('Degraded');

    away.setCut(false);
    await story.pass(MINUTE_MS);
    story.world.ask('worker', 'retryNode', { node: away.name });
    await story.toTheEnd();
    expect(story.reboots()).toEqual([1, 1, 1, 1]);
    expect(story.mostCordoned).toBe(1);
  });

  it('with its grant keeps its cordon and its room, says why, and is updated when told', async () => {
    const story = await aStory({ pool: { maxUnavailable: 2 } });
    const name = await story.untilDraining();
    story.host(name).setCut(true, false);
    story.letGo();
    await story.pass(4 * HOUR_MS);

    // Nobody knows what it has written, so no pod may come to it. The others go on in what room is left.
    expect(story.cordoned()).toEqual([name]);
    expect(story.note(name, ANNOTATION.REASON)).toContain('HostUnreachable');
    expect(story.said()).toMatchObject({
      ...{ done: '3/4', failed: [{ node: name }], counts: { outOfService: 1 } },
    });
    expect(story.grants()).toEqual([name]);
    expect(story.host(name).boot).toBe(1);
    story.expectSound();

    story.host(name).setCut(false);
    story.world.ask('worker', 'retryNode', { node: name });
    await story.toTheEnd();
    expect(story.reboots()).toEqual([1, 1, 1, 1]);
    expect(story.mostCordoned).toBe(2);
  });
});
