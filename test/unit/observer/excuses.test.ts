import { excuseOfRollout } from '../../observer/excuses';
import type { ObservedRollout } from '../../observer/observed';
import { rolloutOf } from './objects';

const UPDATES = 'its node updates';
const FULL = 'waiting for room: maxUnavailable is 5; out of service: a, b, c and 2 more';
const GRANTS = [{ node: 'a', run: 'run-a', serves: false }];

it.each<[string, Partial<ObservedRollout>, number, string | undefined]>([
  ['what it says', { blocker: FULL, waiting: 1 }, 1, FULL],
  ['an update that has a grant', { grants: GRANTS, waiting: 1 }, 2, UPDATES],
  ['an update that prepares', { waiting: 1 }, 2, UPDATES],
  ['none where all wait, and there is room', { waiting: 1 }, 1, undefined],
  [
    'none where it calls full what is not',
    { blocker: 'no room: 1 node of at most 2 out of service: b (why (and), how)', waiting: 1 },
    1,
    undefined,
  ],
  [
    'none where it says so of one of its updates',
    { blocker: 'a: waiting for room: maxUnavailable is 3; out of service: b, c', waiting: 1 },
    1,
    undefined,
  ],
  [
    'none where it says so of the control plane',
    {
      blocker: 'waiting for room: at most 2 of 5 control-plane nodes at once; out of service: c',
      waiting: 1,
    },
    1,
    undefined,
  ],
  ['none where it says none', {}, 0, undefined],
])('the excuse of a rollout is %s', (_what, said, updates, excuse) => {
  expect(excuseOfRollout(rolloutOf('worker', said), updates)).toBe(excuse);
});

it('a rollout without a PoolRollout has none', () => {
  expect(excuseOfRollout(undefined, 3)).toBeUndefined();
});
