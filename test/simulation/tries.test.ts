import type { Node } from '../../core/node/types';
import { Tries } from './tries';

const MINUTE_MS = 60_000;

/** A pool of which one node has failed on `c2`, with the limit of one. */
function afterOneFailure() {
  const clock = { now: 0 };
  const broken: string[] = [];
  const told = {
    clock,
    cluster: { nodes: new Map(), policy: () => ({ failureThreshold: 1, canary: { nodes: 0 } }) },
    outages: { isMemberSince: () => true, members: () => ['a', 'b', 'c'] },
    isUpdating: () => false,
    onBreak: (invariant: string) => broken.push(invariant),
  };
  const tries = new Tries(told as unknown as ConstructorParameters<typeof Tries>[0]);
  const failed = {
    'machineconfiguration.openshift.io/state': 'Degraded',
    'machineconfiguration.openshift.io/desiredConfig': 'c2',
  };
  const node: Node = { metadata: { name: 'a', annotations: failed } };
  const fail = () => {
    tries.updateStarted('a');
    tries.noteFailure('a', node);
    tries.ended('a');
    clock.now += MINUTE_MS;
  };
  const another = () => {
    tries.updateStarted('b');
    tries.begin('b', 'worker', 'c2', false);
    return broken.splice(0);
  };
  return { tries, fail, another };
}

describe('the failure threshold', () => {
  it('is reached by a node that failed again after a person had it tried again', () => {
    const { tries, fail, another } = afterOneFailure();
    fail();
    tries.toldToRetry('a');
    fail();

    expect(another()).toEqual(['threshold']);
  });

  it('is not reached before the try that a person asked for has ended', () => {
    const { tries, fail, another } = afterOneFailure();
    fail();
    tries.updateStarted('a');
    tries.toldToRetry('a');
    // An update that ran already is no answer.
    tries.ended('a');

    expect(another()).toEqual([]);
  });
});
