import {
  controlPlaneOf,
  controlPlaneRoom,
  isControlPlane,
  quorumLimit,
  slotsOfPool,
} from '../../../../core/rollout/control-plane';
import type { Node } from '../../../../core/node/types';
import { aNode, aPool, type NodeFacts } from '../pool/builders';
import { cordoned, decideOn, old, waits, type Situation } from './rollout-pool';

const LABEL = 'node-role.kubernetes.io/control-plane';

function master(name: string, facts: NodeFacts = {}): Node {
  return old(name, { labels: { [LABEL]: 'true' }, ...facts });
}

/** Nodes that get a grant when all nodes of the pool are prepared. */
function granted(
  nodes: readonly Node[],
  max: number | string,
  more: Pick<Situation, 'controlPlane'> = {},
): readonly string[] {
  const waiting = nodes.map(({ metadata }) => waits(metadata.name));
  return decideOn({ nodes, waiting, max, ...more }).granted;
}

it.each([
  [1, 1],
  [2, 1],
  [3, 1],
  [4, 1],
  [5, 2],
  [6, 2],
  [7, 3],
])('of %i control-plane nodes %i may be out at once', (total, limit) => {
  expect(quorumLimit(total)).toBe(limit);
});

it.each([
  ['control-plane', '', true],
  ['control-plane', 'true', true],
  ['master', '', true],
  ['worker', '', false],
])('a node with the role %s, set to "%s": %s', (role, value, is) => {
  const labels = { [`node-role.kubernetes.io/${role}`]: value };
  expect(isControlPlane(aNode('n', { labels }))).toBe(is);
});

describe('grants of control-plane nodes', () => {
  const three = ['m0', 'm1', 'm2'].map((name) => master(name));

  it('are as many as the quorum allows, whatever the pool says', () => {
    expect(granted(three, 3)).toEqual(['m0']);
  });

  it('are as many as the pool says, where that is less', () => {
    const five = ['m0', 'm1', 'm2', 'm3', 'm4'].map((name) => master(name));

    expect(granted(five, 1)).toEqual(['m0']);
    expect(granted(five, '100%')).toEqual(['m0', 'm1']);
  });

  it('count one that is down by itself', () => {
    const nodes = [master('m0'), master('m1', { ready: 'False' }), master('m2')];

    expect(granted(nodes, 3)).toEqual([]);
  });

  it('count those of other pools, and of none', () => {
    const two = three.slice(0, 2);
    const down = [...two, master('other', { cordoned: true })];

    expect(granted(two, 1, { controlPlane: down })).toEqual([]);
    expect(granted(two, 1, { controlPlane: [...two, master('other')] })).toEqual(['m0']);
  });

  it('are counted by themselves in a pool with other nodes', () => {
    const others = [old('w0'), old('w1')];
    const m2 = cordoned('m2', 'r1', { labels: { [LABEL]: 'true' } });

    expect(granted([...three, ...others], 3)).toEqual(['m0', 'w0', 'w1']);
    expect(granted([...three.slice(0, 2), m2, ...others], 3)).toEqual(['w0', 'w1']);
  });

  it('cost nothing when the node is out already', () => {
    const broken = master('m1', { desired: 'x', state: 'Degraded', ready: 'False' });
    const nodes = [master('m0'), broken];

    expect(granted(nodes, 2, { controlPlane: [...nodes, master('m2')] })).toEqual(['m1']);
  });
});

describe('the check of a pool', () => {
  it('lets as many go as the quorum allows where all nodes are of the control plane', () => {
    const nodes = ['m0', 'm1', 'm2'].map((name) => master(name));
    const most = (some: readonly Node[]) =>
      slotsOfPool(aPool({ maxUnavailable: 3 }), some, controlPlaneOf(nodes).length).maxUnavailable;

    expect(most(nodes)).toBe(1);
    expect(most([...nodes, aNode('w')])).toBe(3);
  });

  it.each([
    [1, 3, false],
    [2, 3, true],
    ['34%', 3, false],
    [2, 5, false],
  ])('says with maxUnavailable %s of %i whether less goes: %s', (maxUnavailable, n, isLimiting) => {
    const all = Array.from({ length: n }, (_, index) => master(`m${index}`));
    const known = { all, members: all, unavailable: [] };

    expect(controlPlaneRoom(aPool({ maxUnavailable }), known)?.isLimiting).toBe(isLimiting);
  });
});
