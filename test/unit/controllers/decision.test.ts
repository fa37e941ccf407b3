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

    it('waits for a person again with another config', () => {
      expect(decideRollout({ pool: started('a'), nodes: behind, policy })).toMatchObject({
        reason: 'WaitingForTrigger',
      });
    });

    it('waits when that config was cancelled since', () => {
      const pool = started('b', { 'slipway.dev/rollout-cancelled': 'b' });

      expect(decideRollout({ pool, nodes: behind, policy })).toMatchObject({
        reason: 'RolloutCancelled',
      });
    });
  });

  describe('about a paused pool with a node that an update has left half done', () => {
    const spec = { ...target, paused: true };
    const lost = aNode({ current: 'a', desired: 'b', state: 'Working', cordoned: 'slipway' });
    const manual = { metadata: { name: 'worker' }, spec: { trigger: 'Manual' as const } };
    const annotated = (annotations: Record<string, string>) =>
      aPool('worker', spec, { annotations });

    it('has a rollout finish it', () => {
      const decision = decideRollout({ pool: aPool('worker', spec), nodes: [lost, ...behind] });

      expect(decision).toEqual({ kind: 'roll', target: 'b', behind: 2 });
    });

    it('has a rollout finish one that is not cordoned and not Ready, and one that has only to be uncordoned', () => {
      const working = aNode({ current: 'a', desired: 'b', state: 'Working', ready: false });
      const cordoned = aNode({ current: 'b', desired: 'b', state: 'Done', cordoned: 'slipway' });

      for (const node of [working, cordoned]) {
        const decision = decideRollout({ pool: aPool('worker', spec), nodes: [node] });
        expect(decision.kind).toBe('roll');
      }
    });

    it.each<readonly [string, NodeShape]>([
      ['failed', { state: 'Degraded', desired: 'b', cordoned: 'slipway' }],
      ['failed on another config', { state: 'Degraded', desired: 'x', ready: false }],
      ['is cordoned by a person', { state: 'Done', cordoned: 'person' }],
      ['is not Ready', { state: 'Done', ready: false }],
      ['is held', { state: 'Working', desired: 'b', cordoned: 'slipway', held: 'b' }],
      ['serves', { state: 'Working', desired: 'b' }],
    ])('waits when the node %s', (_what, shape) => {
      const nodes = [aNode({ current: 'a', desired: 'a', ...shape })];

      expect(decideRollout({ pool: aPool('worker', spec), nodes })).toMatchObject({
        reason: 'Paused',
      });
    });

    it('waits when the rollout was cancelled, or nobody has started this config', () => {
      const cancelled = annotated({ 'slipway.dev/rollout-cancelled': 'b' });
      const started = annotated({ 'slipway.dev/rollout-started': 'b' });
      const nodes = [lost];

      expect(decideRollout({ pool: cancelled, nodes })).toMatchObject({ reason: 'Paused' });
      expect(decideRollout({ pool: annotated({}), nodes, policy: manual })).toMatchObject({
        reason: 'Paused',
      });
      expect(decideRollout({ pool: started, nodes, policy: manual }).kind).toBe('roll');
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

  it('has a rollout finish what an update has left half done in an invalid pool', () => {
    const pool = aPool('worker', { ...target, maxUnavailable: 0 });
    const lost = aNode({ current: 'a', desired: 'b', state: 'Working', cordoned: 'slipway' });

    expect(decideRollout({ pool, nodes: [lost] }).kind).toBe('roll');
    expect(decideRollout({ pool, nodes: done })).toMatchObject({ reason: 'InvalidPool' });
  });

  it('waits for a person with an impossible policy', () => {
    const policy = { metadata: { name: 'worker' }, spec: { failureThreshold: 'many' } };

    expect(decideRollout({ pool: aPool('worker', target), nodes: behind, policy })).toMatchObject({
      reason: 'InvalidPolicy',
      message: expect.stringContaining('failureThreshold') as string,
    });
  });
});
