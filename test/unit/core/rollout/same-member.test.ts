import type { Node } from '../../../../core/node/types';
import { isSameNode, movedTo } from '../../../../core/rollout';
import type { MachineConfigPool } from '../../../../core/pool/types';

const aPool = (name: string, nodeSelector: object = { matchLabels: { [name]: '' } }) =>
  ({ metadata: { name }, spec: { nodeSelector } }) as MachineConfigPool;

const POOLS = [aPool('worker'), aPool('infra'), aPool('gpu')];

const aNode = (...roles: readonly string[]): Node => ({
  metadata: { name: 'n1', uid: 'u1', labels: Object.fromEntries(roles.map((role) => [role, ''])) },
});

it('is the same Node as long as its UID says so, or that is not known', () => {
  expect(isSameNode(aNode(), 'u1')).toBe(true);
  expect(isSameNode(aNode(), undefined)).toBe(true);
  expect(isSameNode(aNode(), 'u0')).toBe(false);
});

describe('a member of a pool', () => {
  it.each<[readonly string[], string | undefined]>([
    [['worker', 'infra'], undefined],
    [['worker'], 'pool worker'],
    [['worker', 'gpu'], 'pool gpu'],
    [[], 'no pool'],
  ])('of infra with the roles %j has been moved to %s', (roles, to) => {
    expect(movedTo(aNode(...roles), 'infra', POOLS)).toBe(to);
  });

  it('belongs to no pool when it is in several', () => {
    expect(movedTo(aNode('infra', 'gpu'), 'infra', POOLS)).toMatch(/^no pool: /);
  });

  it('has not left a pool that is gone or whose selector is wrong', () => {
    const wrong = aPool('infra', { matchExpressions: [{ key: 'a', operator: 'Near' }] });

    expect(movedTo(aNode('worker'), 'infra', [aPool('worker')])).toBeUndefined();
    expect(movedTo(aNode('worker'), 'infra', [aPool('worker'), wrong])).toBeUndefined();
  });
});
