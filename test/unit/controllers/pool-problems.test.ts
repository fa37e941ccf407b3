import { findProblems, withProblems } from '../../../controllers/pool-status/pool-problems';
import { assignNodes } from '../../../core/pool/membership';
import { poolStatus } from '../../../core/pool/status';
import type { MachineConfigPool } from '../../../core/pool/types';
import { aNode, aPool } from './objects';

const NOW = '2026-01-01T00:00:00Z';
const LATER = '2026-01-02T00:00:00Z';

function problemsOf(
  nodes: readonly ReturnType<typeof aNode>[],
  pools: readonly MachineConfigPool[],
) {
  return findProblems(nodes, pools, assignNodes(nodes, pools));
}

describe('problems of pools', () => {
  it('are none for pools in order', () => {
    expect(problemsOf([aNode()], [aPool('worker'), aPool('infra')]).size).toBe(0);
  });

  it('name a node in two custom pools on both, and only there', () => {
    const pools = [aPool('worker'), aPool('infra'), aPool('gpu')];
    const torn = aNode({ name: 'torn', roles: ['worker', 'infra', 'gpu'] });

    const problems = problemsOf([aNode(), torn], pools);

    expect([...problems.keys()].sort()).toEqual(['gpu', 'infra']);
    expect(problems.get('gpu')?.[0]).toMatchObject({
      reason: 'NodeInSeveralPools',
      message: expect.stringContaining('node torn (gpu, infra)') as string,
    });
  });

  it('stay short when many nodes are in two pools', () => {
    const torn = Array.from({ length: 500 }, (_, index) =>
      aNode({ name: `torn-${index}`, roles: ['infra', 'gpu'] }),
    );

    const message = problemsOf(torn, [aPool('infra'), aPool('gpu')]).get('infra')?.[0]?.message;

    expect(message).toContain('and 490 more');
    expect(message?.length).toBeLessThan(600);
  });

  it('name a selector that Kubernetes would refuse, which hurts no other pool', () => {
    const bad = aPool('bad', {
      nodeSelector: { matchExpressions: [{ key: 'a', operator: 'Near', values: [] }] },
    });

    const problems = problemsOf([aNode()], [bad, aPool('worker')]);

    expect([...problems.keys()]).toEqual(['bad']);
    expect(problems.get('bad')?.[0]?.message).toContain('"Near" is not a valid label selector');
  });
});

describe('the status with problems', () => {
  const problem = { reason: 'InvalidPool' as const, message: 'spec.maxUnavailable is 0' };
  const computed = (pool: MachineConfigPool, now: string) =>
    poolStatus({ pool, nodes: [], machineConfigNodes: [], now });

  it('is degraded, since when it first was, and equal when nothing changes', () => {
    const pool = aPool();
    const first = withProblems(computed(pool, NOW), [problem], pool, NOW);

    const stored = { ...pool, status: first };
    const second = withProblems(computed(stored, LATER), [problem], stored, LATER);

    const degraded = first.conditions?.find(({ type }) => type === 'Degraded');
    expect(degraded).toMatchObject({ status: 'True', lastTransitionTime: NOW, ...problem });
    expect(new Set(second.conditions)).toEqual(new Set(first.conditions));
  });

  it('keeps what failed nodes say', () => {
    const pool = aPool();
    const node = aNode({ current: 'a', desired: 'b', state: 'Degraded' });
    const status = poolStatus({ pool, nodes: [node], machineConfigNodes: [], now: NOW });

    const degraded = withProblems(status, [problem], pool, NOW).conditions?.find(
      ({ type }) => type === 'Degraded',
    );

    expect(degraded?.message).toContain('Node n1 is reporting');
    expect(degraded?.message).toContain(problem.message);
  });
});
