import { decideRollout } from '../../../controllers/rollout/decision';
import { aNode, aPool } from './objects';

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

  it('waits for a person with an impossible policy', () => {
    const policy = { metadata: { name: 'worker' }, spec: { failureThreshold: 'many' } };

    expect(decideRollout({ pool: aPool('worker', target), nodes: behind, policy })).toMatchObject({
      reason: 'InvalidPolicy',
      message: expect.stringContaining('failureThreshold') as string,
    });
  });
});
