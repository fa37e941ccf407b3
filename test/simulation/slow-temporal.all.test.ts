/** A Temporal that takes long for each message, in quiet weather. */

import { updateNodeId } from '../../core/names';
import { quietWorld, rebootingConfig, until } from './quiet-world';
import type { World } from './world/world';

const MINUTE_MS = 60_000;
const LONG = 200;

const POOL = {
  maxUnavailable: 4,
  configs: [1, 2, 3, 4].map(rebootingConfig),
  policy: {
    canary: { nodes: 0 },
    prepareAhead: 4,
    failureThreshold: '100%',
    verify: { readySeconds: 0, reconnectSeconds: 300 },
  },
};

interface Told {
  readonly seed: number;
  readonly nodes: number;
  readonly slots: number;
  /** Each message takes as long, and so does its confirmation. */
  readonly heldUpMs: number;
  readonly longHistory: number;
}

async function slowWorld({ seed, nodes, slots, heldUpMs, longHistory }: Told) {
  const pool = { ...POOL, maxUnavailable: slots, policy: { ...POOL.policy, prepareAhead: slots } };
  const { world, run, trace } = await quietWorld({ seed, nodes, pool, longHistory });
  const heldUp = jest.spyOn(world.faults, 'holdsUpMs').mockReturnValue(heldUpMs);
  world.controllers.begin();
  const lengths = (): readonly number[] =>
    trace.last(1_000_000).flatMap((line) => {
      const [, events] =
        / pool-rollout\/worker: continues as new after (\d+) events/.exec(line) ?? [];
      return events === undefined ? [] : [Number(events)];
    });
  return { world, run, lengths, heldUp };
}

/** Which updates are started from now on, and which cannot be, because one of the node runs. */
function startsOf({ temporal }: World) {
  const begin = temporal.start.bind(temporal);
  const started: string[] = [];
  const refused: string[] = [];
  jest.spyOn(temporal, 'start').mockImplementation((type, id, ...rest) => {
    const execution = begin(type, id, ...rest);
    if (type === 'updateNode') (execution === undefined ? refused : started).push(id);
    return execution;
  });
  return { started, refused };
}

jest.setTimeout(120_000);

describe('the history of a rollout stays short', () => {
  it.each([
    ['a message takes 50 s', 1, { nodes: 40, slots: 4, heldUpMs: 25_000, longHistory: LONG }],
    ['a message takes 50 s', 2, { nodes: 40, slots: 4, heldUpMs: 25_000, longHistory: LONG }],
    ['it takes five minutes', 3, { nodes: 100, slots: 20, heldUpMs: 150_000, longHistory: 800 }],
  ])('when %s (seed %d)', async (_what, seed, told) => {
    const { world, run, lengths } = await slowWorld({ seed, ...told });

    await run(6 * 60 * MINUTE_MS);

    expect(lengths().length).toBeGreaterThan(1);
    expect(Math.max(...lengths())).toBeLessThan(1.6 * told.longHistory);
    expect(world.temporal.open()).toEqual([]);
    expect(world.invariants.violations).toEqual([]);
  });
});

it('an update that is lost while nothing new is said is taken up at once', async () => {
  const { world, run, heldUp } = await slowWorld({
    // Due in the middle of a round, whatever the seed: at its end nobody is cordoned.
    ...{ seed: 4, nodes: 40, slots: 4, heldUpMs: 150_000, longHistory: 150 },
  });
  const isHeldBack = async () => {
    return (await world.progress('worker'))?.blocker?.includes('to go on in a new run') === true;
  };
  const cordoned = () =>
    [...world.cluster.nodes].find(([, { spec }]) => spec?.unschedulable === true)?.[0];
  await until(run, async () => cordoned() !== undefined && (await isHeldBack()), 1_000);
  const [node = ''] = [cordoned()];

  const { started } = startsOf(world);
  heldUp.mockReturnValue(0);
  await world.terminate(updateNodeId(node));
  await run(90_000);

  expect(started).toContain(updateNodeId(node));
  await run(6 * 60 * MINUTE_MS);
  expect(world.temporal.open()).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});

it('the end of an update, told late, is not taken for the end of the next one', async () => {
  const { world, run } = await slowWorld({
    ...{ seed: 5, nodes: 12, slots: 2, heldUpMs: 25_000, longHistory: 100_000 },
  });
  const { refused } = startsOf(world);
  await run(5 * MINUTE_MS);

  world.render('worker', 'rendered-worker-3');
  await run(6 * 60 * MINUTE_MS);

  expect(refused).toEqual([]);
  expect(world.temporal.open()).toEqual([]);
  expect(world.invariants.violations).toEqual([]);
});
