/** People who say another thing before what was said first is written, in quiet weather. */

import { ANNOTATION } from '../../core/names';
import { quietWorld, rebootingConfig } from './quiet-world';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

const POOL = {
  maxUnavailable: 1,
  configs: [1, 2, 3, 4].map(rebootingConfig),
  policy: {
    canary: { nodes: 0 },
    failureThreshold: '100%',
    verify: { readySeconds: 0, reconnectSeconds: 300 },
  },
};

jest.setTimeout(120_000);

describe('a pause and a resume, the later one while the API server is away for the earlier one', () => {
  async function say(first: 'pause' | 'resume', seed: number) {
    const story = await quietWorld({ seed, nodes: 4, pool: POOL });
    const { world, run } = story;
    world.controllers.begin();
    await run(40 * SECOND_MS);
    if (first === 'resume') world.ask('worker', 'pause', { reason: 'change freeze' });
    await run(20 * SECOND_MS);
    world.cluster.isAway = true;
    world.ask('worker', first, { reason: 'first' });
    await run(4 * SECOND_MS);
    world.ask('worker', first === 'pause' ? 'resume' : 'pause', { reason: 'second' });
    return story;
  }

  it.each([1, 3])('goes on when a resume was last (seed %d)', async (seed) => {
    const { world, run, trace } = await say('pause', seed);
    await run(16 * SECOND_MS);
    world.cluster.isAway = false;
    await run(40 * MINUTE_MS);

    expect(answers(trace.last(100_000))).toEqual(['pause: done', 'resume: done']);
    expect(world.cluster.pool('worker').spec.paused).toBe(false);
    expect(world.invariants.violations).toEqual([]);
    expect(world.temporal.open()).toEqual([]);
  });

  it.each([4, 8])('stands still when a pause was last (seed %d)', async (seed) => {
    const { world, run, trace } = await say('resume', seed);
    await run(16 * SECOND_MS);
    world.cluster.isAway = false;
    await run(20 * MINUTE_MS);

    expect(answers(trace.last(100_000))).toEqual(['pause: done', 'resume: done', 'pause: done']);
    const { spec, metadata } = world.cluster.pool('worker');
    expect(spec.paused).toBe(true);
    expect(metadata.annotations?.[ANNOTATION.PAUSED_REASON]).toBe('second');
    expect(world.rollout('worker')).toMatchObject({ state: 'Paused', grants: [] });
    expect(world.invariants.violations).toEqual([]);
  });

  it('heeds the later one also when the earlier one could not be written', async () => {
    const { world, run, trace } = await say('pause', 1);
    await run(70 * SECOND_MS);
    world.cluster.isAway = false;
    await run(40 * MINUTE_MS);

    expect(answers(trace.last(100_000))).toEqual([
      expect.stringMatching(/^pause: ApiUnavailable: /),
      // It was never paused, which a second attempt cannot tell from an answer that was lost.
      'resume: done',
    ]);
    expect(world.cluster.pool('worker').spec.paused ?? false).toBe(false);
    expect(world.invariants.violations).toEqual([]);
    expect(world.temporal.open()).toEqual([]);
  });
});

describe('a retry and a skip of a node, the later one before the earlier one is written', () => {
  /** A node has failed, and would not fail again. */
  async function withFailedNode(seed: number) {
    const story = await quietWorld({ seed, nodes: 3, pool: POOL });
    const { world, run } = story;
    const [host] = world.hosts.values();
    if (host === undefined) throw new Error('no host');
    host.isEdited = true;
    world.controllers.begin();
    await run(15 * MINUTE_MS);
    const failed = world.rollout('worker')?.failed ?? [];
    expect(failed.map(({ node }) => node)).toEqual([host.name]);
    host.isEdited = false;
    return { ...story, host, node: host.name };
  }

  it.each([
    { seed: 1, awayMs: 20 * SECOND_MS },
    { seed: 4, awayMs: 0 },
    { seed: 8, awayMs: 0 },
  ])('leaves it out when a skip was last: %j', async ({ seed, awayMs }) => {
    const { world, run, trace, host, node } = await withFailedNode(seed);
    world.cluster.isAway = awayMs > 0;
    world.ask('worker', 'retryNode', { node });
    await run(awayMs > 0 ? 5 * SECOND_MS : 20);
    world.ask('worker', 'skipNode', { node, reason: 'hardware fault' });
    await run(awayMs);
    world.cluster.isAway = false;
    await run(20 * MINUTE_MS);

    expect(answers(trace.last(100_000))).toEqual(['retryNode: done', 'skipNode: done']);
    const { annotations = {} } = world.cluster.node(node).metadata;
    expect(annotations[ANNOTATION.HELD_FOR]).toBe('rendered-worker-2');
    expect(annotations[ANNOTATION.CURRENT_CONFIG]).toBe('rendered-worker-1');
    expect(host.boot).toBe(1);
    expect(world.rollout('worker')).toMatchObject({
      ...{ state: 'Blocked', done: '2/3', failed: [] },
      held: [{ node, reason: expect.stringContaining('hardware fault') as string }],
    });
    expect(world.invariants.violations).toEqual([]);
  });

  it.each([1, 4])('tries it when a retry was last (seed %d)', async (seed) => {
    const { world, run, trace, node } = await withFailedNode(seed);
    world.cluster.isAway = true;
    world.ask('worker', 'skipNode', { node, reason: 'hardware fault' });
    await run(5 * SECOND_MS);
    world.ask('worker', 'retryNode', { node });
    await run(20 * SECOND_MS);
    world.cluster.isAway = false;
    await run(20 * MINUTE_MS);

    expect(answers(trace.last(100_000))).toEqual(['skipNode: done', 'retryNode: done']);
    const { annotations = {} } = world.cluster.node(node).metadata;
    expect(annotations[ANNOTATION.HELD_FOR]).toBeUndefined();
    expect(annotations[ANNOTATION.CURRENT_CONFIG]).toBe('rendered-worker-2');
    expect(world.invariants.violations).toEqual([]);
    expect(world.temporal.open()).toEqual([]);
  });

  it('tries it when a skip that was last could not be written', async () => {
    const { world, run, trace, node } = await withFailedNode(1);
    world.cluster.isAway = true;
    world.ask('worker', 'retryNode', { node });
    await run(5 * SECOND_MS);
    world.ask('worker', 'skipNode', { node, reason: 'hardware fault' });
    await run(10 * SECOND_MS);
    world.cluster.isAway = false;
    while (answers(trace.last(100_000)).length === 0) await run(1);
    world.cluster.isAway = true;
    await run(2 * MINUTE_MS);
    world.cluster.isAway = false;
    await run(20 * MINUTE_MS);

    expect(answers(trace.last(100_000))).toEqual([
      'retryNode: done',
      expect.stringMatching(/^skipNode: ApiUnavailable: /),
    ]);
    const { annotations = {} } = world.cluster.node(node).metadata;
    expect(annotations[ANNOTATION.CURRENT_CONFIG]).toBe('rendered-worker-2');
    expect(world.temporal.open()).toEqual([]);
    expect(world.invariants.violations).toEqual([]);
  });
});

/** What people were answered, in that order. */
function answers(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => {
    const [, said] = / person: ((?:pause|resume|retryNode|skipNode): .*)$/.exec(line) ?? [];
    return said === undefined ? [] : [said];
  });
}
