import { failureName } from '../../../../core/errors';
import type { RolloutPolicySpec } from '../../../../core/pool/types';
import {
  canaryLimit,
  failureLimit,
  halted,
  resolvePolicy,
  startable,
} from '../../../../core/rollout';

describe('the policy of a rollout', () => {
  it('has defaults for everything', () => {
    const defaults = {
      trigger: 'Automatic',
      canaryNodes: 1,
      failureThreshold: 2,
      drain: { timeoutSeconds: 3600, onTimeout: 'RetryLater' },
      rebootTimeoutSeconds: 1200,
      readySeconds: 10,
      reconnectSeconds: 600,
    };

    expect(resolvePolicy(undefined)).toEqual(defaults);
    expect(resolvePolicy({ drain: {}, canary: {}, verify: {}, reboot: {} })).toEqual(defaults);
  });

  it('takes what a person wrote, zeros too', () => {
    const policy = resolvePolicy({
      trigger: 'Manual',
      canary: { nodes: 0 },
      failureThreshold: '10%',
      drain: { gracePeriodSeconds: 0, skipWaitForDeleteTimeoutSeconds: 5, onTimeout: 'Fail' },
      prepareAhead: 0,
      verify: { readySeconds: 0 },
    });

    expect(policy).toMatchObject({
      trigger: 'Manual',
      canaryNodes: 0,
      failureThreshold: '10%',
      drain: {
        timeoutSeconds: 3600,
        gracePeriodSeconds: 0,
        skipWaitForDeleteTimeoutSeconds: 5,
        onTimeout: 'Fail',
      },
      prepareAhead: 0,
      readySeconds: 0,
    });
  });

  it.each<[RolloutPolicySpec, string]>([
    [{ failureThreshold: 0 }, 'spec.failureThreshold is 0'],
    [{ failureThreshold: '150%' }, 'spec.failureThreshold is "150%"'],
    [{ failureThreshold: 'abc' }, 'spec.failureThreshold is "abc"'],
    [{ canary: { nodes: -1 } }, 'spec.canary.nodes is -1'],
    [{ drain: { timeoutSeconds: 1.5 } }, 'spec.drain.timeoutSeconds is 1.5'],
    [{ prepareAhead: -3 }, 'spec.prepareAhead is -3'],
  ])('refuses %j', (spec, message) => {
    let thrown: unknown;
    try {
      resolvePolicy(spec);
    } catch (error) {
      thrown = error;
    }

    expect(failureName(thrown)).toBe('InvalidPolicy');
    expect(thrown).toMatchObject({ message: expect.stringContaining(message) as string });
  });
});

describe('the failure threshold', () => {
  it.each<[number | string, number, number]>([
    [2, 100, 2],
    ['10%', 100, 10],
    ['10%', 5, 1],
    ['50%', 5, 2],
    ['100%', 0, 1],
  ])('%j of %d nodes is %d', (failureThreshold, machines, expected) => {
    expect(failureLimit({ failureThreshold }, machines)).toBe(expected);
  });

  it('halts at the limit and not before', () => {
    const policy = { failureThreshold: 2 };

    expect(halted(1, policy, 10)).toBe(false);
    expect(halted(2, policy, 10)).toBe(true);
    expect(halted(3, policy, 10)).toBe(true);
  });
});

describe('the canary', () => {
  const limit = (canaryNodes: number, updated: number) =>
    canaryLimit({ policy: { canaryNodes }, updated, trying: ['n0'] });

  it('is alone until enough nodes are verified', () => {
    expect(limit(1, 0)).toEqual({ slots: 1, trying: ['n0'] });
    expect(limit(3, 1)).toEqual({ slots: 2, trying: ['n0'] });
  });

  it('is over once the config is verified, however many nodes got there', () => {
    expect(limit(1, 1)).toBeUndefined();
    expect(limit(1, 50)).toBeUndefined();
  });

  it('counts a report that the cluster view has not seen yet', () => {
    const input = { policy: { canaryNodes: 2 }, updated: 0, trying: ['n1'] };

    const reported = (...nodes: readonly string[]) => ({ count: nodes.length, nodes });
    expect(canaryLimit({ ...input, reported: reported('n2') })?.slots).toBe(1);
    expect(canaryLimit({ ...input, reported: reported('n2', 'n3') })).toBeUndefined();
  });

  it('counts a node once that is in the view and has reported, and none too few', () => {
    const seen = { policy: { canaryNodes: 3 }, updated: 1, updatedNodes: ['n2'], trying: ['n1'] };

    expect(canaryLimit({ ...seen, reported: { count: 1, nodes: ['n2'] } })?.slots).toBe(2);
    expect(canaryLimit({ ...seen, reported: { count: 1, nodes: ['n3'] } })?.slots).toBe(1);
  });

  it('does not exist when the policy asks for none', () => {
    expect(limit(0, 0)).toBeUndefined();
  });
});

describe('preparing ahead of slots', () => {
  it.each<[string, Parameters<typeof startable>[0], number]>([
    [
      'as many as maxUnavailable',
      { policy: {}, maxUnavailable: 3, freeSlots: 3, withoutSlot: 0 },
      3,
    ],
    ['not more than that', { policy: {}, maxUnavailable: 3, freeSlots: 0, withoutSlot: 3 }, 0],
    ['what is missing', { policy: {}, maxUnavailable: 3, freeSlots: 0, withoutSlot: 1 }, 2],
    [
      'as many as the policy says',
      { policy: { prepareAhead: 5 }, maxUnavailable: 1, freeSlots: 0, withoutSlot: 1 },
      4,
    ],
    [
      'for free slots even if none ahead',
      { policy: { prepareAhead: 0 }, maxUnavailable: 3, freeSlots: 2, withoutSlot: 1 },
      1,
    ],
    [
      'none when none ahead and no slot is free',
      { policy: { prepareAhead: 0 }, maxUnavailable: 3, freeSlots: 0, withoutSlot: 0 },
      0,
    ],
    [
      'never a negative number',
      { policy: { prepareAhead: 1 }, maxUnavailable: 3, freeSlots: 0, withoutSlot: 4 },
      0,
    ],
  ])('starts %s', (_name, input, expected) => {
    expect(startable(input)).toBe(expected);
  });
});
