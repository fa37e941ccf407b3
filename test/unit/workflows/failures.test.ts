import { ActivityFailure, RetryState, TimeoutFailure, TimeoutType } from '@temporalio/common';
import { explain } from '../../../workflows/contracts/failures';

describe('a step that did not succeed in time', () => {
  const late = (step: string) => {
    const timeout = new TimeoutFailure('late', undefined, TimeoutType.SCHEDULE_TO_CLOSE);
    return new ActivityFailure('late', step, '1', RetryState.TIMEOUT, 'w', timeout);
  };

  it.each([
    ['takeOutOfService', 'ApiUnavailable'],
    ['checkCordon', 'ApiUnavailable'],
    ['writeWord', 'ApiUnavailable'],
    ['drainNode', 'DrainTimedOut'],
    ['awaitReturn', 'NodeNotReady'],
    ['applyUpdate', 'HostUnreachable'],
  ])('%s: %s', (step, name) => {
    expect(explain(late(step)).name).toBe(name);
  });
});
