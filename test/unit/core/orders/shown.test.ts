import {
  compareWithShown,
  type IntroducingOrder,
  type ShownCluster,
} from '../../../../core/orders';
import { ANNOTATION } from '../../../../core/names';
import type { Node } from '../../../../core/node/types';
import type { MachineConfigPool } from '../../../../core/pool/types';

function aPool(name: string, config: string | undefined, more: object = {}): MachineConfigPool {
  return {
    metadata: { name, uid: `uid-${name}`, generation: 4, ...more },
    spec: {
      nodeSelector: { matchLabels: { [`role/${name}`]: '' } },
      ...(config === undefined ? {} : { configuration: { name: config } }),
    },
  };
}

function aNode(pool: string, annotations: Record<string, string> = {}): Node {
  return {
    metadata: {
      name: 'n1',
      labels: { [`role/${pool}`]: '' },
      annotations: {
        [ANNOTATION.CURRENT_CONFIG]: 'old',
        [ANNOTATION.DESIRED_CONFIG]: 'mid',
        ...annotations,
      },
    },
  };
}

const POLICIES = { files: [{ path: '/etc/x', actions: [{ type: 'None' as const }] }] };
const ORDER: IntroducingOrder = {
  node: 'n1',
  pool: { name: 'worker', uid: 'uid-worker', generation: 3 },
  config: { name: 'new' },
  currentConfig: { name: 'old' },
  disruptionPolicies: POLICIES,
};
const SHOWN: ShownCluster = {
  node: aNode('worker'),
  pools: [aPool('worker', 'new'), aPool('infra', 'other')],
  disruptionPolicies: POLICIES,
};

const compared = (order: Partial<IntroducingOrder> = {}, shown: Partial<ShownCluster> = {}) =>
  compareWithShown({ ...ORDER, ...order }, { ...SHOWN, ...shown });

it('an order that fits gets the generation that the pool has by now', () => {
  expect(compared()).toEqual({ generation: 4 });
});

it('a way back fits when it leads to what the node runs, whatever the pool wants', () => {
  const back = { takesBack: true, config: { name: 'old' } } as const;

  expect(compared(back)).toEqual({ generation: 4 });
  expect(compared({ ...back, config: { name: 'new' } })).toEqual({
    differs: 'the config of node n1 is old',
  });
});

it('a node of a pool without a target goes on to where it was going', () => {
  const pools = [aPool('worker', undefined)];

  expect(compared({ config: { name: 'mid' } }, { pools })).toEqual({ generation: 4 });
  expect(compared({}, { pools })).toEqual({ differs: 'the target of pool worker is mid' });
});

it.each<[string, Partial<IntroducingOrder>, Partial<ShownCluster>, string]>([
  ['of a node that is gone', {}, { node: undefined }, 'there is no node n1'],
  ['of a node in no pool', {}, { node: aNode('edge') }, 'node n1 is in no pool'],
  [
    'of a node that was moved',
    {},
    { node: aNode('infra') },
    'node n1 is in pool infra (UID uid-infra)',
  ],
  [
    'of a pool that was made anew',
    {},
    { pools: [aPool('worker', 'new', { uid: 'another' })] },
    'node n1 is in pool worker (UID another)',
  ],
  [
    'that the caches do not know yet',
    { pool: { ...ORDER.pool, generation: 5 } },
    {},
    'pool worker is of generation 4',
  ],
  ['of an earlier target', { config: { name: 'mid' } }, {}, 'the target of pool worker is new'],
  ['of another present config', { currentConfig: { name: 'mid' } }, {}, 'node n1 runs old'],
  [
    'with policies of its own',
    { disruptionPolicies: { files: [{ path: '/', actions: [{ type: 'None' }] }] } },
    {},
    'other disruption policies are in force',
  ],
  [
    'where two custom pools want the node',
    {},
    {
      pools: [
        aPool('worker', 'new'),
        aPool('a', 'x', { name: 'a' }),
        { ...aPool('b', 'x'), spec: aPool('a', 'x').spec },
      ],
      node: aNode('a'),
    },
    'node n1 belongs to 2 custom roles, cannot proceed with this Node',
  ],
])('an order %s does not fit', (_what, order, shown, differs) => {
  expect(compared(order, shown)).toEqual({ differs });
});
