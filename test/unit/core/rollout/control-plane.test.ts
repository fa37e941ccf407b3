import {
  decideSlots,
  isControlPlane,
  observePool,
  quorumLimit,
  selectFrom,
} from '../../../../core/rollout';
import type { Node } from '../../../../core/node/types';
import { aNode, aPool, type NodeFacts } from '../pool/builders';

const LABEL = 'node-role.kubernetes.io/control-plane';

function master(name: string, facts: NodeFacts = {}): Node {
  return aNode(name, { labels: { [LABEL]: 'true' }, ...facts });
}

/** Nodes that get a slot when all nodes of the pool want one. */
function granted(
  nodes: readonly Node[],
  maxUnavailable: number | string,
  {
    elsewhere = [],
    holders = [],
  }: { elsewhere?: readonly Node[]; holders?: readonly string[] } = {},
) {
  const controlPlane = [...nodes, ...elsewhere].filter(isControlPlane);
  const view = observePool({ pool: aPool({ maxUnavailable }), nodes, controlPlane });
  const inFlight = nodes.map(({ metadata }) => metadata.name);
  const { unavailable, downOtherwise = [], ...look } = selectFrom(view, { inFlight, limit: 9 });
  return decideSlots({ ...look, unavailable, downOtherwise, holders, waiting: inFlight });
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

describe('slots of control-plane nodes', () => {
  const three = ['m0', 'm1', 'm2'].map((name) => master(name));

  it('are as many as the quorum allows, whatever the pool says', () => {
    const { granted: given, withheld } = granted(three, 3);

    expect(given).toEqual(['m0']);
    expect(withheld[0]).toEqual({
      node: 'm1',
      reason: 'waiting for a slot: at most 1 of 3 control-plane nodes at once; holding a slot: m0',
      byControlPlane: true,
    });
  });

  it('are as many as the pool says, where that is less', () => {
    const five = ['m0', 'm1', 'm2', 'm3', 'm4'].map((name) => master(name));

    expect(granted(five, 1).granted).toEqual(['m0']);
    expect(granted(five, '100%').granted).toEqual(['m0', 'm1']);
  });

  it('count one that is down by itself', () => {
    const [m0, , m2] = three;
    const nodes = [m0, master('m1', { ready: 'False' }), m2].filter((node) => node !== undefined);
    const { granted: given, withheld } = granted(nodes, 3);

    expect(given).toEqual([]);
    expect(withheld.find(({ node }) => node === 'm0')?.reason).toBe(
      'waiting for a slot: at most 1 of 3 control-plane nodes at once; unavailable: m1',
    );
  });

  it('count those of other pools, and of none', () => {
    const elsewhere = [master('other', { cordoned: true })];

    expect(granted(three.slice(0, 2), 1, { elsewhere }).granted).toEqual([]);
    expect(granted(three.slice(0, 2), 1, { elsewhere: [master('other')] }).granted).toEqual(['m0']);
  });

  it('are counted by themselves in a pool with other nodes', () => {
    const nodes = [...three, aNode('w0'), aNode('w1')];

    expect(granted(nodes, 3).granted).toEqual(['m0', 'w0', 'w1']);
    expect(granted(nodes, 3, { holders: ['m2'] }).granted).toEqual(['w0', 'w1']);
  });

  it('are left to the nodes that have one', () => {
    const request = {
      ...{ maxUnavailable: 3, unavailable: [], holders: ['m0'], inherited: ['m0'] },
      ...{ waiting: ['m0', 'm1'] },
      controlPlane: { total: 3, members: ['m0', 'm1', 'm2'], out: [], isLimiting: true },
    };
    expect(decideSlots(request).granted).toEqual(['m0']);
  });

  it('cost nothing when the node is out already', () => {
    const nodes = [three[0], master('m1', { desired: 'x', state: 'Degraded', ready: 'False' })];

    const known = nodes.filter((node) => node !== undefined);
    expect(granted(known, 2, { elsewhere: three.slice(2) }).granted).toEqual(['m1']);
  });
});

describe('the check of a pool', () => {
  it('has as many slots as the quorum allows where all nodes are of the control plane', () => {
    const nodes = ['m0', 'm1', 'm2'].map((name) => master(name));
    const look = (some: readonly Node[]) =>
      observePool({ pool: aPool({ maxUnavailable: 3 }), nodes: some, controlPlane: nodes });

    expect(look(nodes)).toMatchObject({
      maxUnavailable: 1,
      controlPlane: { total: 3, isLimiting: true },
    });
    expect(look([...nodes, aNode('w')])).toMatchObject({ maxUnavailable: 3 });
    expect(look([aNode('w')])).not.toHaveProperty('controlPlane');
  });

  it.each([
    [1, 3, false],
    [2, 3, true],
    ['34%', 3, false],
    [2, 5, false],
  ])('says with maxUnavailable %s of %i whether less goes: %s', (maxUnavailable, n, isLimiting) => {
    const nodes = Array.from({ length: n }, (_, index) => master(`m${index}`));
    const view = observePool({ pool: aPool({ maxUnavailable }), nodes });

    expect(view.controlPlane?.isLimiting).toBe(isLimiting);
  });
});
