import { failureName } from '../../../../core/errors';
import type { RolloutPolicySpec } from '../../../../core/pool/types';
import { failureLimit, resolvePolicy } from '../../../../core/rollout';
import { canariesOf } from '../../../../core/rollout/grants';
import { cordoned, decideOn, failed, old, startsOf, waits } from './rollout-pool';

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

  it.each([
    [['a'], 'Rolling'],
    [['a', 'b'], 'Halted'],
    [['a', 'b', 'c'], 'Halted'],
  ])('of two with %j failed: %s', (names, state) => {
    const nodes = [...names.map((name) => failed(name)), old('z')];

    expect(decideOn({ nodes, policy: { failureThreshold: 2 } }).status.state).toBe(state);
  });
});

describe('the canary', () => {
  it('is alone until enough nodes are verified', () => {
    expect(canariesOf({ canaryNodes: 1 }, 0)).toBe(1);
    expect(canariesOf({ canaryNodes: 3 }, 1)).toBe(2);
  });

  it('is over once the config is verified, however many nodes got there', () => {
    expect(canariesOf({ canaryNodes: 1 }, 1)).toBeUndefined();
    expect(canariesOf({ canaryNodes: 1 }, 50)).toBeUndefined();
  });

  it('does not exist when the policy asks for none', () => {
    expect(canariesOf({ canaryNodes: 0 }, 0)).toBeUndefined();
  });
});

describe('preparing ahead of grants', () => {
  it.each([
    ['as many as maxUnavailable', {}, [], ['a', 'b']],
    ['what is missing', {}, ['a'], ['b', 'c']],
    ['as many as the policy says', { prepareAhead: 3 }, [], ['a', 'b', 'c']],
    ['for free room even if none ahead', { prepareAhead: 0 }, [], ['a', 'b']],
  ])('starts %s', (_name, policy, waiting, expected) => {
    const nodes = ['a', 'b', 'c', 'd'].map((name) => old(name));
    const standstill = { nodes, policy, waiting: waiting.map((name) => waits(name)) };

    expect(startsOf(decideOn(standstill))).toEqual(expected);
  });

  it('starts none when none ahead and there is no room', () => {
    const nodes = [cordoned('a'), cordoned('b'), old('c')];

    expect(startsOf(decideOn({ nodes, policy: { prepareAhead: 0 } }))).toEqual([]);
  });
});
