import { MCN_CONDITIONS, mcnConditions } from '../../../../core/node/conditions';
import type { NodePhase } from '../../../../core/node/lifecycle';
import type { Condition } from '../../../../core/object-meta';

const CONFIG = 'rendered-worker-b';
const options = { config: CONFIG, now: '2030-01-01T00:00:00Z' };

function walk(...phases: NodePhase[]): readonly Condition[] {
  return phases.reduce<readonly Condition[]>(
    (conditions, phase, minute) =>
      mcnConditions(phase, conditions, { ...options, now: `2030-01-01T00:0${minute}:00Z` }),
    [],
  );
}

function of(conditions: readonly Condition[], type: string): Condition {
  const found = conditions.find((condition) => condition.type === type);
  if (found === undefined) throw new Error(`no condition ${type}`);
  return found;
}

function having(conditions: readonly Condition[], status: Condition['status']): readonly string[] {
  return conditions.filter((condition) => condition.status === status).map(({ type }) => type);
}

describe('the conditions of a MachineConfigNode', () => {
  it('are all there from the first write on, the others as not yet occurred', () => {
    const conditions = mcnConditions('Preparing', undefined, options);

    expect(conditions.map(({ type }) => type).sort()).toEqual([...MCN_CONDITIONS].sort());
    expect(of(conditions, 'UpdatePrepared')).toMatchObject({ status: 'Unknown' });
    expect(of(conditions, 'Drained')).toEqual({
      type: 'Drained',
      status: 'False',
      reason: 'NotYetOccurred',
      message: 'This node has not yet entered the Drained phase',
      lastTransitionTime: options.now,
    });
  });

  it.each<[NodePhase[], string[], string[]]>([
    [['Preparing'], [], ['UpdatePrepared']],
    [['Preparing', 'WaitingForGrant'], ['UpdatePrepared'], []],
    [['Draining'], ['UpdatePrepared'], ['UpdateExecuted', 'Drained']],
    [
      ['Draining', 'Applying'],
      ['UpdatePrepared', 'Drained'],
      ['UpdateExecuted', 'AppliedFilesAndOS', 'AppliedFiles', 'AppliedOSImage'],
    ],
    [
      ['Applying', 'Rebooting'],
      ['UpdatePrepared', 'UpdateExecuted', 'AppliedFilesAndOS', 'AppliedFiles', 'AppliedOSImage'],
      ['UpdatePostActionComplete', 'RebootedNode'],
    ],
    [
      ['Rebooting', 'Verifying'],
      ['UpdatePrepared', 'UpdateExecuted', 'UpdatePostActionComplete', 'RebootedNode'],
      ['UpdateComplete'],
    ],
    [
      ['Verifying', 'Completing'],
      ['UpdatePrepared', 'UpdateExecuted', 'UpdatePostActionComplete', 'Resumed'],
      ['UpdateComplete', 'Uncordoned'],
    ],
    [['Verifying', 'Completing', 'Updated'], ['Updated'], []],
    [['Applying', 'GoingBack'], ['UpdatePrepared'], ['UpdateExecuted']],
    [['Applying', 'GoingBack', 'Degraded'], ['NodeDegraded'], []],
    [['Applying', 'GoingBack', 'Cancelled'], [], []],
  ])('after %s: done %s, in progress %s', (phases, done, inProgress) => {
    const conditions = walk(...phases);

    expect(having(conditions, 'True')).toEqual(expect.arrayContaining(done));
    expect([...having(conditions, 'True')].sort()).toEqual([...done].sort());
    expect([...having(conditions, 'Unknown')].sort()).toEqual([...inProgress].sort());
  });

  it('name the stage and the step as the reason', () => {
    expect(of(walk('Draining'), 'Drained').reason).toBe('UpdateExecutedDrained');
    expect(of(walk('Draining', 'Applying'), 'Drained').reason).toBe('UpdateExecutedDrained');
    expect(of(walk('Draining'), 'UpdateExecuted').reason).toBe('UpdateExecuted');
  });

  it('show steps whose phase was not written when told that they are done', () => {
    const conditions = mcnConditions('Applying', walk('Preparing'), {
      ...options,
      done: ['Cordoned', 'Drained'],
    });

    expect(having(conditions, 'True')).toEqual(
      expect.arrayContaining(['UpdatePrepared', 'Cordoned', 'Drained']),
    );
  });

  it('keep the old messages when the update is over', () => {
    const conditions = walk('Draining', 'Updated');

    expect(of(conditions, 'Drained')).toMatchObject({
      status: 'False',
      message: `Action during update to ${CONFIG}: ${CONFIG}: evicting the pods of the node`,
    });
  });

  it('are not Updated any more once the next update begins', () => {
    const conditions = walk('Completing', 'Updated', 'Preparing');

    expect(of(conditions, 'Updated').status).toBe('False');
    expect(having(conditions, 'Unknown')).toEqual(['UpdatePrepared']);
  });

  it('say what failed, by name, until the next try disturbs the node', () => {
    const failed = mcnConditions('Degraded', walk('Preparing'), {
      ...options,
      message: 'budget shop/cart allows no disruption',
      failure: 'DrainTimedOut',
    });

    expect(of(failed, 'NodeDegraded')).toMatchObject({
      status: 'True',
      reason: 'DrainTimedOut',
      message: 'budget shop/cart allows no disruption',
    });
    const retried = mcnConditions('WaitingForGrant', failed, options);
    expect(of(retried, 'NodeDegraded').status).toBe('True');
    expect(of(mcnConditions('Draining', retried, options), 'NodeDegraded').status).toBe('False');
  });

  it('leave an older failure alone when an update is cancelled before it disturbed the node', () => {
    const degraded = walk('Degraded');

    const cancelled = mcnConditions('Cancelled', degraded, options);

    expect(of(cancelled, 'NodeDegraded')).toEqual(of(degraded, 'NodeDegraded'));
  });

  it('tell of no older failure any more when the node says that it is where it is to be', () => {
    const cancelled = mcnConditions('Cancelled', walk('Degraded'), {
      ...options,
      restsOn: 'rendered-old',
    });

    expect(having(cancelled, 'True')).toEqual(['Updated']);
  });

  it('say that a node is updated when its update was cancelled and it is where it is to be', () => {
    const taken = mcnConditions('Cancelled', walk('Draining', 'Applying', 'GoingBack'), {
      ...options,
      restsOn: 'rendered-old',
    });

    expect(of(taken, 'Updated')).toMatchObject({ status: 'True', reason: 'UpdateCancelled' });
    expect(having(taken, 'True')).toEqual(['Updated']);
    expect(of(mcnConditions('Draining', taken, options), 'Updated').status).toBe('False');
  });

  it.each<NodePhase>([
    'Preparing',
    'WaitingForGrant',
    'Draining',
    'Applying',
    'Reloading',
    'Rebooting',
    'Verifying',
    'Completing',
    'GoingBack',
    'Updated',
    'Degraded',
    'Cancelled',
  ])('do not change when %s is written twice', (phase) => {
    const once = mcnConditions(phase, walk('Preparing', 'Draining'), options);

    const twice = mcnConditions(phase, once, { ...options, now: '2031-01-01T00:00:00Z' });

    expect(twice).toEqual(once);
  });

  it('keep the transition time while the status stays', () => {
    const conditions = walk('Draining', 'Applying');

    expect(of(conditions, 'UpdateExecuted').lastTransitionTime).toBe('2030-01-01T00:00:00Z');
    expect(of(conditions, 'Drained').lastTransitionTime).toBe('2030-01-01T00:01:00Z');
  });

  it('have a reason that Kubernetes accepts in every phase', () => {
    for (const condition of walk('Preparing', 'Applying', 'GoingBack', 'Degraded')) {
      expect(condition.reason).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
    }
  });
});
