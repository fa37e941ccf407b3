/**
 * Temporal loses its database before, during or after each step of an update. The next rollout knows only what the
 * cluster and the hosts say: each node reboots once, nobody is left cordoned, and no other goes out meanwhile.
 */

import { aStory, CONFIG, type Story } from './grants-story';
import { shippedSandbox } from './many-seeds';

/** The steps of an update that drains and reboots, in order. */
const STEPS = [
  'prepareUpdate',
  'takeOutOfService',
  'drainNode',
  'applyUpdate',
  'checkCordon',
  'armReboot',
  'verifyUpdate',
  'awaitReturn',
  'commitUpdate',
  'completeNode',
] as const;
type Step = (typeof STEPS)[number];

/** How long a step is under way before the database is lost, at most. */
const MEANWHILE_MS: Readonly<Partial<Record<Step, number>>> = {
  ...{ prepareUpdate: 1_500, takeOutOfService: 300, drainNode: 400, applyUpdate: 400 },
  ...{ verifyUpdate: 200, awaitReturn: 4_000, commitUpdate: 50 },
};

const MOMENTS = {
  before: async (story: Story, type: Step) => {
    await story.untilFound(() => find(story, type, 'queued'));
  },
  // A look takes no time.
  during: async (story: Story, type: Step) => {
    const name = await story.untilFound(() => find(story, type, 'queued'));
    await story.until(() => story.step(name, type)?.state !== 'queued');
    await story.pass(MEANWHILE_MS[type] ?? 0);
  },
  after: async (story: Story, type: Step) => {
    const name = await story.untilFound(() => find(story, type, 'queued'));
    await story.until(() => story.step(name, type) === undefined);
  },
} as const;

function find(story: Story, type: Step, state: string): string | undefined {
  return story.hosts().find(({ name }) => story.step(name, type)?.state === state)?.name;
}

const POLICIES = { short: 30, long: 600 } as const;
const CASES = Object.keys(POLICIES).flatMap((policy) =>
  STEPS.flatMap((step) => Object.keys(MOMENTS).map((moment) => [policy, moment, step] as const)),
) as readonly (readonly [keyof typeof POLICIES, keyof typeof MOMENTS, Step])[];

beforeAll(() => shippedSandbox(), 180_000);

jest.setTimeout(120_000);

describe("Temporal's database is lost", () => {
  it.each(CASES)('with a %s reconnect time, %s %s', async (policy, moment, step) => {
    const verify = { readySeconds: 5, reconnectSeconds: POLICIES[policy] };
    const story = await aStory({ nodes: 3, pool: { policy: { verify } } });
    await MOMENTS[moment](story, step);
    const isLost = story.world.temporal.open().length > 0;
    story.world.note('story', 'the database is lost');

    await story.world.loseTemporal();
    await story.toTheEnd();

    expect(isLost).toBe(true);
    expect(story.reboots()).toEqual([1, 1, 1]);
    expect(new Set(story.configs())).toEqual(new Set([CONFIG[2]]));
    expect(story.cordoned()).toEqual([]);
    expect(story.mostCordoned).toBe(1);
    expect(story.said()).toMatchObject({ state: 'Completed', done: '3/3', grants: [], failed: [] });
  });
});
