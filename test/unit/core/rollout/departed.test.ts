import type { Node } from '../../../../core/node/types';
import { departure, type DepartureQuestion } from '../../../../core/rollout';
import type { MachineConfigPool } from '../../../../core/pool/types';

const aPool = (name: string, nodeSelector: object = { matchLabels: { [name]: '' } }) =>
  ({ metadata: { name }, spec: { nodeSelector } }) as MachineConfigPool;

const POOLS = [aPool('worker'), aPool('infra'), aPool('gpu')];

const aNode = (...roles: readonly string[]): Node => ({
  metadata: { name: 'n1', uid: 'u1', labels: Object.fromEntries(roles.map((role) => [role, ''])) },
});

const look = (question: Partial<DepartureQuestion>) =>
  departure({
    name: 'n1',
    pool: 'infra',
    pools: POOLS,
    node: aNode('worker', 'infra'),
    ...question,
  });

describe('a node that a rollout remembers', () => {
  it('is a member as long as its labels say so, whoever it was before its UID was known', () => {
    expect(look({})).toBeUndefined();
    expect(look({ uid: 'u1' })).toBeUndefined();
  });

  it.each<[Partial<DepartureQuestion>, boolean, string]>([
    [{ node: undefined }, true, 'node n1 was deleted'],
    [{ uid: 'u0' }, true, 'node n1 was deleted, and there is another one of its name now'],
    [{ node: aNode('worker') }, false, 'node n1 was moved to pool worker'],
    [{ node: aNode('worker', 'gpu') }, false, 'node n1 was moved to pool gpu'],
    [{ node: aNode() }, false, 'node n1 was moved to no pool'],
  ])('has left with %j', (question, deleted, reason) => {
    expect(look(question)).toEqual({ deleted, reason });
  });

  it('belongs to no pool when it is in several', () => {
    expect(look({ node: aNode('infra', 'gpu') })?.reason).toMatch(
      /^node n1 was moved to no pool: /,
    );
  });

  it('has not left a pool that is gone or whose selector is wrong', () => {
    const wrong = aPool('infra', { matchExpressions: [{ key: 'a', operator: 'Near' }] });

    expect(look({ pools: [aPool('worker')] })).toBeUndefined();
    expect(look({ pools: [aPool('worker'), wrong] })).toBeUndefined();
  });
});
