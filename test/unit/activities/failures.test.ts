import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { toFailure, withFailures } from '../../../activities/failures';
import { fail, FAILURES, type FailureName } from '../../../core/errors';

it.each(Object.keys(FAILURES) as FailureName[])('%s is retried as its kind says', (name) => {
  const failure = toFailure(fail(name, 'because', { pod: 'shop/cart' }), 1);

  const { kind } = FAILURES[name];
  expect(failure.type).toBe(name);
  expect(failure.message).toBe('because');
  expect(failure.details).toEqual([{ pod: 'shop/cart' }]);
  expect(failure.nonRetryable).toBe(kind !== 'transient' && kind !== 'waiting');
  expect(failure.nextRetryDelay !== undefined && failure.nextRetryDelay !== null).toBe(
    kind === 'waiting',
  );
  expect(failure.category ?? 'UNSPECIFIED').toBe(kind === 'waiting' ? 'BENIGN' : 'UNSPECIFIED');
});

it('lets a failure say when to look again', () => {
  const failure = toFailure(fail('DrainBlocked', 'busy', { retryAfterSeconds: 42 }), 1);

  expect(failure.nextRetryDelay).toBe('42s');
});

it('tries an unknown error three times, then shows it as a bug', () => {
  const bug = new TypeError('x is not a function');

  expect(toFailure(bug, 1)).toMatchObject({ type: 'TypeError', nonRetryable: false });
  expect(toFailure(bug, 3)).toMatchObject({ nonRetryable: true, cause: bug });
});

it.each(['completeNode', 'releaseNode', 'step', 'writeWord'])(
  'tries an unknown error of %s, or a refused write, again for as long as it takes',
  (activity) => {
    const bug = new TypeError('x is not a function');
    const [refused, over] = [fail('ApiRefused', 'no'), fail('UpdateSuperseded', 'over')];

    expect(toFailure(bug, 40, activity)).toMatchObject({ type: 'TypeError', nonRetryable: false });
    expect(toFailure(refused, 1, activity)).toMatchObject({ nonRetryable: false });
    expect(toFailure(over, 1, activity)).toMatchObject({ nonRetryable: true });
  },
);

it('does not try a refused write of any other step again', () => {
  expect(toFailure(fail('ApiRefused', 'no'), 1, 'drainNode')).toMatchObject({
    nonRetryable: true,
  });
});

it('passes a Temporal failure through', () => {
  const failure = ApplicationFailure.nonRetryable('already said', 'OrderRefused');

  expect(toFailure(failure, 1)).toBe(failure);
});

describe('around an activity', () => {
  const environment = new MockActivityEnvironment();

  it('gives results back and translates what is thrown', async () => {
    const { works, breaks } = withFailures({
      works: async (value: number) => Promise.resolve(value + 1),
      breaks: async () => Promise.reject(fail('ObjectNotFound', 'node a does not exist')),
    });

    await expect(environment.run(works, 1)).resolves.toBe(2);
    await expect(environment.run(breaks)).rejects.toMatchObject({
      name: 'ApplicationFailure',
      type: 'ObjectNotFound',
      nonRetryable: true,
    });
  });

  it('knows which one it is', async () => {
    const late = new MockActivityEnvironment({ attempt: 3 });
    const broken = async () => Promise.reject(new TypeError('x is not a function'));
    const { drainNode, releaseNode } = withFailures({ drainNode: broken, releaseNode: broken });

    await expect(late.run(drainNode)).rejects.toMatchObject({ nonRetryable: true });
    await expect(late.run(releaseNode)).rejects.toMatchObject({ nonRetryable: false });
  });

  it('lets a cancellation be one, also when it surfaced as an aborted request', async () => {
    const { request } = withFailures({
      request: async () => {
        environment.cancel('CANCELLED');
        return Promise.reject(Object.assign(new Error('aborted'), { name: 'AbortError' }));
      },
    });

    await expect(environment.run(request)).rejects.toBeInstanceOf(CancelledFailure);
  });
});
