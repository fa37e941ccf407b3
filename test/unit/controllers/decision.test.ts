import { decideRollout } from '../../../controllers/rollout/decision';
import { aNode, aPool, type NodeShape } from './objects';

const target = { configuration: { name: 'b' } };
const behind = [aNode({ current: 'a', desired: 'a', state: 'Done' })];
const done = [aNode({ current: 'b', desired: 'b', state: 'Done' })];

describe('what to do about a pool', () => {
  it('rolls when nodes are behind', () => {
    expect(decideRollout({ pool: aPool('worker', target), nodes: behind })).toEqual({
      kind: 'roll',
      target: 'b',
      behind: 1,
    });
  });

  it('rolls nodes that were never configured', () => {
    const decision = decideRollout({ pool: aPool('worker', target), nodes: [aNode()] });

    expect(decision.kind).toBe('roll');
  });

  it.each([
    ['every node is done', aPool('worker', target), done],
    ['there is no node', aPool('worker', target), []],
    ['nothing is rendered yet', aPool(), behind],
  ])('is settled when %s', (_what, pool, nodes) => {
    expect(decideRollout({ pool, nodes })).toEqual({ kind: 'settled' });
  });

  it('is settled when the pool is being deleted', () => {
    const pool = aPool('worker', target);
    const going = {
      ...pool,
      metadata: { ...pool.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    };

    expect(decideRollout({ pool: going, nodes: behind })).toEqual({ kind: 'settled' });
  });

  it('waits for a paused pool, and does not care when nothing is behind', () => {
    const pool = aPool('worker', { ...target, paused: true });

    expect(decideRollout({ pool, nodes: behind })).toMatchObject({ reason: 'Paused' });
    expect(decideRollout({ pool, nodes: done })).toEqual({ kind: 'settled' });
  });

  it('waits for a person when the policy is Manual, and says what to type', () => {
    const policy = { metadata: { name: 'worker' }, spec: { trigger: 'Manual' as const } };

    expect(decideRollout({ pool: aPool('worker', target), nodes: behind, policy })).toEqual({
      kind: 'wait',
      target: 'b',
      reason: 'WaitingForTrigger',
      message:
        '1 node is not on b, and the pool waits for a person; ' +
        'start it with: slipway rollout start worker',
    });
  });

  describe('when a person started the rollout', () => {
    const policy = { metadata: { name: 'worker' }, spec: { trigger: 'Manual' as const } };
    const started = (config: string, more: Record<string, string> = {}) =>
      aPool('worker', target, { annotations: { 'slipway.dev/rollout-started': config, ...more } });

    it('rolls on after every kind of loss of a rollout', () => {
      expect(decideRollout({ pool: started('b'), nodes: behind, policy })).toEqual({
        kind: 'roll',
        target: 'b',
        behind: 1,
      });
    });

    it('rolls whatever config it was for: a new one retargets it', () => {
      expect(decideRollout({ pool: started('a'), nodes: behind, policy }).kind).toBe('roll');
    });

    it('waits when that config was cancelled since', () => {
      const pool = started('b', { 'slipway.dev/rollout-cancelled': 'b' });

      expect(decideRollout({ pool, nodes: behind, policy })).toMatchObject({
        reason: 'RolloutCancelled',
      });
    });
  });

  describe('about a node that an update has, where nothing else may begin', () => {
    const taken = aNode({ current: 'a', desired: 'b', state: 'Working', run: 'one' });
    const manual = { metadata: { name: 'worker' }, spec: { trigger: 'Manual' as const } };
    const cancelled = { annotations: { 'slipway.dev/rollout-cancelled': 'b' } };

    it.each([
      ['is paused', aPool('worker', { ...target, paused: true }), undefined],
      ['has an impossible field', aPool('worker', { ...target, maxUnavailable: 0 }), undefined],
      ['was cancelled', aPool('worker', target, cancelled), undefined],
      ['was not started', aPool('worker', target), manual],
    ])('has a rollout finish it, or take it back, when the pool %s', (_what, pool, policy) => {
      const nodes = [taken, ...behind];
      const given = policy === undefined ? {} : { policy };

      expect(decideRollout({ pool, nodes, ...given })).toEqual({ kind: 'finish', target: 'b' });
      expect(decideRollout({ pool, nodes: behind, ...given }).kind).toBe('wait');
    });

    it('has it finish one that is on the config, and has only to be given back', () => {
      const pool = aPool('worker', { ...target, paused: true });
      const shape = { current: 'b', desired: 'b', state: 'Done', cordoned: 'slipway' } as const;

      expect(decideRollout({ pool, nodes: [aNode({ ...shape, run: 'one' })] }).kind).toBe('finish');
    });

    it.each<readonly [string, NodeShape]>([
      ['is cordoned by a person', { cordoned: 'person' }],
      ['is not Ready', { ready: false }],
      ['has failed on another config', { state: 'Degraded', desired: 'x', ready: false }],
      ['was given back', { state: 'Degraded', desired: 'b', run: 'one/over' }],
    ])('waits when the node only %s', (_what, shape) => {
      const pool = aPool('worker', { ...target, paused: true });
      const nodes = [aNode({ current: 'a', desired: 'a', state: 'Done', ...shape })];

      expect(decideRollout({ pool, nodes })).toMatchObject({ reason: 'Paused' });
    });
  });

  it('waits after a cancel of this very config, not of another', () => {
    const cancelled = (config: string) =>
      aPool('worker', target, { annotations: { 'slipway.dev/rollout-cancelled': config } });

    expect(decideRollout({ pool: cancelled('b'), nodes: behind })).toMatchObject({
      reason: 'RolloutCancelled',
    });
    expect(decideRollout({ pool: cancelled('a'), nodes: behind })).toMatchObject({ kind: 'roll' });
  });

  it.each([0, -1, '150%', 'abc'])('waits for a person with maxUnavailable %p', (maxUnavailable) => {
    const pool = aPool('worker', { ...target, maxUnavailable });

    expect(decideRollout({ pool, nodes: behind })).toMatchObject({
      reason: 'InvalidPool',
      message: expect.stringContaining('spec.maxUnavailable') as string,
    });
  });

  it('says that a field is impossible, also when nothing is behind', () => {
    const pool = aPool('worker', { ...target, maxUnavailable: 0 });

    expect(decideRollout({ pool, nodes: done })).toMatchObject({ reason: 'InvalidPool' });
  });

  it('waits for a person with an impossible policy', () => {
    const policy = { metadata: { name: 'worker' }, spec: { failureThreshold: 'many' } };

    const taken = aNode({ current: 'a', desired: 'b', state: 'Working', run: 'one' });

    for (const nodes of [behind, [taken]]) {
      expect(decideRollout({ pool: aPool('worker', target), nodes, policy })).toMatchObject({
        reason: 'InvalidPolicy',
        message: expect.stringContaining('failureThreshold') as string,
      });
    }
  });
});
