import {
  blockerOf,
  budgetsOf,
  evictionRefusal,
  MCO_DRAIN_OPTIONS,
  predictBlockers,
  type DrainContext,
  type PodDisruptionBudget,
} from '../../../../core/drain';
import { aPod, NOW, ownedBy } from './pods';

const context: DrainContext = { options: MCO_DRAIN_OPTIONS, now: NOW };
const labels = { app: 'cart', 'pod-template-hash': '7f' };
const cart = aPod({ labels, ownerReferences: ownedBy('ReplicaSet', 'cart-7f') });
const unready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] };

function aBudget(parts: {
  readonly name?: string;
  readonly namespace?: string;
  readonly generation?: number;
  readonly spec?: PodDisruptionBudget['spec'];
  readonly status?: PodDisruptionBudget['status'];
}): PodDisruptionBudget {
  const { name = 'cart', namespace = 'shop', generation = 1 } = parts;
  return {
    metadata: { name, namespace, generation },
    spec: { selector: { matchLabels: { app: 'cart' } }, ...parts.spec },
    status: { observedGeneration: 1, disruptionsAllowed: 0, ...parts.status },
  };
}

describe('which budgets cover a pod', () => {
  it.each<[string, PodDisruptionBudget, boolean]>([
    ['its labels', aBudget({}), true],
    ['other labels', aBudget({ spec: { selector: { matchLabels: { app: 'web' } } } }), false],
    ['an empty selector', aBudget({ spec: { selector: {} } }), true],
    ['another namespace', aBudget({ namespace: 'other', spec: { selector: {} } }), false],
    ['no selector', { metadata: { name: 'cart', namespace: 'shop' }, spec: {} }, false],
    [
      'an expression that the label refuses',
      aBudget({
        spec: { selector: { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] } },
      }),
      false,
    ],
  ])('%s', (_, budget, covers) => {
    expect(budgetsOf(cart, [budget])).toEqual(covers ? [budget] : []);
  });
});

describe('whether the Eviction API would refuse', () => {
  const zero = 'budget shop/cart allows 0 disruptions';

  it.each([
    ['no budget', cart, [], undefined],
    ['a budget with room', cart, [aBudget({ status: { disruptionsAllowed: 1 } })], undefined],
    ['a budget without room', cart, [aBudget({})], zero],
    [
      'a budget that nobody has looked at since it changed',
      cart,
      [aBudget({ generation: 2, status: { disruptionsAllowed: 5 } })],
      'budget shop/cart is still being processed',
    ],
    [
      'two budgets, even with room',
      cart,
      [
        aBudget({ status: { disruptionsAllowed: 1 } }),
        aBudget({ name: 'all', status: { disruptionsAllowed: 1 } }),
      ],
      'budgets shop/cart and shop/all both cover it, which evictions do not support',
    ],
    ['a finished pod', aPod({ labels }, { status: { phase: 'Failed' } }), [aBudget({})], undefined],
    ['a pending pod', aPod({ labels }, { status: { phase: 'Pending' } }), [aBudget({})], undefined],
    ['a terminating pod', aPod({ labels, deletionTimestamp: NOW }), [aBudget({})], undefined],
    [
      'an unready pod while too few are healthy',
      aPod({ labels }, { status: unready }),
      [aBudget({ status: { currentHealthy: 1, desiredHealthy: 2 } })],
      zero,
    ],
    [
      'an unready pod while enough are healthy',
      aPod({ labels }, { status: unready }),
      [aBudget({ status: { currentHealthy: 2, desiredHealthy: 2 } })],
      undefined,
    ],
    [
      'an unready pod while none need be healthy',
      aPod({ labels }, { status: unready }),
      [aBudget({ status: { currentHealthy: 0, desiredHealthy: 0 } })],
      zero,
    ],
    [
      'an unready pod that may always go',
      aPod({ labels }, { status: unready }),
      [aBudget({ spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } })],
      undefined,
    ],
    [
      'a ready pod while enough are healthy',
      cart,
      [aBudget({ status: { currentHealthy: 2, desiredHealthy: 2 } })],
      zero,
    ],
  ])('%s', (_, pod, budgets, expected) => {
    expect(evictionRefusal(pod, budgets)).toBe(expected);
  });
});

describe('the sentence that names a blocker', () => {
  it.each([
    [
      'the budget and the Deployment behind the ReplicaSet',
      blockerOf(cart, [aBudget({})]),
      'waiting for pod shop/cart-7f-x (budget shop/cart allows 0 disruptions; owner Deployment shop/cart)',
    ],
    [
      'a ReplicaSet of its own',
      blockerOf(aPod({ ownerReferences: ownedBy('ReplicaSet', 'cart-7f') }), []),
      'waiting for pod shop/cart-7f-x (eviction not yet accepted; owner ReplicaSet shop/cart-7f)',
    ],
    [
      'a pod that nobody owns',
      blockerOf(aPod({}), []),
      'waiting for pod shop/cart-7f-x (eviction not yet accepted; no owner)',
    ],
    [
      'a pod on its way out',
      blockerOf(
        aPod({ deletionTimestamp: NOW, ownerReferences: ownedBy('StatefulSet', 'db') }),
        [],
      ),
      'waiting for pod shop/cart-7f-x (terminating since 2026-01-01T12:00:00Z; owner StatefulSet shop/db)',
    ],
    [
      'a pod in its grace period, since it was asked to go',
      blockerOf(aPod({ deletionTimestamp: NOW, deletionGracePeriodSeconds: 1_800 }), []),
      'waiting for pod shop/cart-7f-x (terminating since 2026-01-01T11:30:00Z; no owner)',
    ],
    [
      'a finalizer',
      blockerOf(aPod({ deletionTimestamp: NOW, finalizers: ['example.com/archive'] }), []),
      'waiting for pod shop/cart-7f-x (terminating since 2026-01-01T12:00:00Z, held by finalizer example.com/archive; no owner)',
    ],
  ])('%s', (_, sentence, expected) => {
    expect(sentence).toBe(expected);
  });
});

describe('what would block a drain', () => {
  it('is nothing for pods that may go', () => {
    const roomy = aBudget({ status: { disruptionsAllowed: 1 } });
    expect(predictBlockers([cart], [roomy], context)).toEqual([]);
  });

  it('names the budget, all its pods, and that waiting will not help', () => {
    const other = aPod({ ...cart.metadata, name: 'cart-7f-a' });
    const strict = aBudget({ status: { desiredHealthy: 2, expectedPods: 2, currentHealthy: 2 } });
    expect(predictBlockers([cart, other], [strict], context)).toEqual([
      {
        reason: 'BudgetAllowsNothing',
        budget: 'shop/cart',
        pods: ['shop/cart-7f-a', 'shop/cart-7f-x'],
        sentence:
          'budget shop/cart allows 0 disruptions and never will (it wants 2 of 2 pods healthy): shop/cart-7f-a, shop/cart-7f-x',
      },
    ]);
  });

  it('does not count pods that stay on the node', () => {
    const daemon = aPod({ labels, ownerReferences: ownedBy('DaemonSet', 'logs') });
    expect(predictBlockers([daemon], [aBudget({})], context)).toEqual([]);
  });

  it('names pods that nothing recreates, after what holds up the drain', () => {
    const loner = aPod({ name: 'loner' });
    const found = predictBlockers([loner, cart], [aBudget({})], context);
    expect(found.map(({ reason, pods }) => [reason, pods])).toEqual([
      ['BudgetAllowsNothing', ['shop/cart-7f-x']],
      ['Unmanaged', ['shop/loner']],
    ]);
  });

  it('names two budgets over one pod', () => {
    const two = [aBudget({}), aBudget({ name: 'all', spec: { selector: {} } })];
    expect(predictBlockers([cart], two, context)).toEqual([
      {
        reason: 'SeveralBudgets',
        pods: ['shop/cart-7f-x'],
        sentence:
          'budgets shop/cart and shop/all both cover it, which evictions do not support: shop/cart-7f-x',
      },
    ]);
  });

  it('names what the options refuse, and not what comes of it', () => {
    const options = { ...MCO_DRAIN_OPTIONS, force: false };
    const found = predictBlockers([aPod({ name: 'loner' })], [], { ...context, options });
    expect(found).toEqual([
      {
        reason: 'Refused',
        pods: ['shop/loner'],
        sentence:
          'cannot delete pods that declare no controller (set force to delete them): shop/loner',
      },
    ]);
  });
});
