import { failureName } from '../../../../core/errors';
import {
  assignNodes,
  nodesOfPool,
  poolsForNode,
  primaryPoolForNode,
} from '../../../../core/pool/membership';
import type { MachineConfigPool } from '../../../../core/pool/types';
import { aNode, namesOf } from './builders';

const role = (name: string) => `node-role.kubernetes.io/${name}`;
const pool = (name: string): MachineConfigPool => ({
  metadata: { name },
  spec: { nodeSelector: { matchLabels: { [role(name)]: '' } } },
});
const POOLS = ['infra', 'infra2', 'master', 'worker'].map(pool);
const nodeWith = (...roles: string[]) =>
  aNode('n0', { labels: Object.fromEntries(roles.map((name) => [role(name), ''])) });

describe('the primary pool of a node', () => {
  it.each<[string[], string | undefined]>([
    [[], undefined],
    [['worker'], 'worker'],
    [['master'], 'master'],
    [['master', 'worker'], 'master'],
    [['infra'], 'infra'],
    [['worker', 'infra'], 'infra'],
    [['master', 'infra'], 'master'],
    [['master', 'worker', 'infra'], 'master'],
    [['unknown'], undefined],
  ])('of %j is %s', (roles, expected) => {
    expect(primaryPoolForNode(nodeWith(...roles), POOLS)?.metadata.name).toBe(expected);
  });

  it.each([
    ['infra', 'infra2'],
    ['master', 'infra', 'infra2'],
  ])('does not exist for a node in two custom pools: %s %s', (...roles) => {
    let thrown: unknown;
    try {
      primaryPoolForNode(nodeWith(...roles), POOLS);
    } catch (error) {
      thrown = error;
    }

    expect(failureName(thrown)).toBe('NodeInSeveralPools');
    expect(thrown).toMatchObject({
      message: 'node n0 belongs to 2 custom roles, cannot proceed with this Node',
      details: { pools: ['infra', 'infra2'] },
    });
  });

  it('does not exist for a Windows node, even one in two custom pools', () => {
    const labels = { 'kubernetes.io/os': 'windows', [role('infra')]: '', [role('infra2')]: '' };

    expect(primaryPoolForNode(aNode('n0', { labels }), POOLS)).toBeUndefined();
  });

  it('is followed by worker, from which a custom pool inherits', () => {
    const names = poolsForNode(nodeWith('worker', 'infra'), POOLS).pools.map(
      ({ metadata }) => metadata.name,
    );

    expect(names).toEqual(['infra', 'worker']);
  });

  it('ignores a custom pool for a master, and says so', () => {
    const { pools, ignoredCustomPool } = poolsForNode(nodeWith('master', 'infra'), POOLS);

    expect(pools.map(({ metadata }) => metadata.name)).toEqual(['master']);
    expect(ignoredCustomPool?.metadata.name).toBe('infra');
  });

  it('is never a pool without a selector', () => {
    const bare: MachineConfigPool = { metadata: { name: 'bare' }, spec: { nodeSelector: {} } };

    expect(primaryPoolForNode(nodeWith('worker'), [bare])).toBeUndefined();
  });

  it('cannot be told when a pool has a selector that Kubernetes refuses', () => {
    expect(() => primaryPoolForNode(nodeWith('worker'), [...POOLS, brokenPool()])).toThrow(
      'machineconfigpool broken: spec.nodeSelector: invalid label selector: "Like" is not a valid label selector operator',
    );
  });
});

describe('sorting all nodes into their pools', () => {
  it('leaves out a node in two custom pools and names it', () => {
    const worker = aNode('w', { labels: { [role('worker')]: '' } });

    const membership = assignNodes([nodeWith('infra', 'infra2'), worker], POOLS);

    expect(namesOf(membership.members.get('worker') ?? [])).toEqual(['w']);
    expect(membership.members.get('infra')).toEqual([]);
    expect(membership.conflicts).toEqual([
      { node: 'n0', reason: expect.stringContaining('2 custom roles') as string },
    ]);
  });

  it('lets a bad selector hurt its own pool only', () => {
    const membership = assignNodes([nodeWith('worker')], [...POOLS, brokenPool()]);

    expect(namesOf(membership.members.get('worker') ?? [])).toEqual(['n0']);
    expect(membership.invalidPools).toEqual([
      { pool: 'broken', reason: expect.stringContaining('spec.nodeSelector') as string },
    ]);
    expect(membership.members.get('broken')).toEqual([]);
  });

  it('gives a worker that joined a custom pool to that pool alone', () => {
    const nodes = [nodeWith('worker', 'infra'), aNode('w', { labels: { [role('worker')]: '' } })];
    const [infra, , , worker] = POOLS as [
      MachineConfigPool,
      MachineConfigPool,
      MachineConfigPool,
      MachineConfigPool,
    ];

    expect(namesOf(nodesOfPool(infra, nodes, POOLS))).toEqual(['n0']);
    expect(namesOf(nodesOfPool(worker, nodes, POOLS))).toEqual(['w']);
  });
});

function brokenPool(): MachineConfigPool {
  return {
    metadata: { name: 'broken' },
    spec: { nodeSelector: { matchExpressions: [{ key: 'x', operator: 'Like', values: ['y'] }] } },
  };
}
