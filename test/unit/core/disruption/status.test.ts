/** The status of the MachineConfiguration. */

import {
  DEFAULT_DISRUPTION_POLICIES,
  policyStatus,
  policyStatusDiffers,
  type MachineConfiguration,
} from '../../../../core/disruption';

const NOW = '2030-01-01T00:00:00Z';
const LATER = '2030-01-02T00:00:00Z';
const none = [{ type: 'None' }];

function stored(spec: object, generation: number, status: unknown = {}): MachineConfiguration {
  return { metadata: { name: 'cluster', generation }, spec, status };
}
const policies = (...paths: readonly string[]) => ({
  nodeDisruptionPolicy: { files: paths.map((path) => ({ path, actions: none })) },
});
const overrides = { irreconcilableValidationOverrides: { storage: ['Disks'] } };

it('has the policies with the defaults, without the places where they were read', () => {
  expect(policyStatus(stored(policies('/etc/mine'), 3), NOW)).toEqual({
    observedGeneration: 3,
    nodeDisruptionPolicyStatus: {
      clusterPolicies: {
        ...DEFAULT_DISRUPTION_POLICIES,
        files: [...DEFAULT_DISRUPTION_POLICIES.files, { path: '/etc/mine', actions: none }],
      },
    },
    conditions: [
      {
        ...{ type: 'NodeDisruptionPolicyDegraded', status: 'False', reason: 'AsExpected' },
        ...{ message: '', lastTransitionTime: NOW },
      },
    ],
  });
});

it('keeps the earlier policies of a spec that is wrong, says why, and ends by itself', () => {
  const good = policyStatus(stored(policies('/etc/mine'), 1), NOW);
  const bad = policyStatus(stored(policies('/etc/new', 'relative'), 2, good), LATER);

  expect(bad.observedGeneration).toBe(2);
  expect(bad.nodeDisruptionPolicyStatus).toEqual(good.nodeDisruptionPolicyStatus);
  expect(bad.conditions).toEqual([
    {
      ...{ type: 'NodeDisruptionPolicyDegraded', status: 'True', reason: 'InvalidPolicy' },
      message:
        'MachineConfiguration cluster: spec.nodeDisruptionPolicy.files[1].path: path must be absolute; begin it with /; until then the last valid policies are in force, which its status shows',
      lastTransitionTime: LATER,
    },
  ]);

  const mended = policyStatus(stored(policies('/etc/new'), 3, bad), LATER);
  expect(mended.conditions).toMatchObject([{ status: 'False', message: '' }]);
  expect(mended.nodeDisruptionPolicyStatus.clusterPolicies.files.at(-1)?.path).toBe('/etc/new');
});

it('names overrides, which do not touch the policies', () => {
  const status = policyStatus(stored({ ...policies('/etc/mine'), ...overrides }, 1), NOW);

  expect(status.conditions).toMatchObject([
    {
      status: 'True',
      message: expect.stringMatching(
        /spec\.irreconcilableValidationOverrides\.storage: Slipway .* must change$/,
      ) as string,
    },
  ]);
  expect(status.nodeDisruptionPolicyStatus.clusterPolicies.files.at(-1)?.path).toBe('/etc/mine');
});

it('names a few of many problems', () => {
  const paths = ['a', 'b', 'c', 'd', 'e'];
  const [condition] = policyStatus(stored(policies(...paths), 1), NOW).conditions;

  expect(condition?.message).toContain('files[2].path');
  expect(condition?.message).not.toContain('files[3].path');
  expect(condition?.message).toContain('and 2 more');
});

describe('is written', () => {
  const object = stored(policies('/etc/mine'), 1);
  const status = policyStatus(object, NOW);
  const files = status.nodeDisruptionPolicyStatus.clusterPolicies.files;
  const changed = (more: object) => ({ ...object, status: { ...status, ...more } });
  const filesOf = (list: unknown) => ({
    nodeDisruptionPolicyStatus: {
      clusterPolicies: { ...DEFAULT_DISRUPTION_POLICIES, files: list },
    },
  });
  const others = [{ type: 'BootImageUpdateDegraded', status: 'False', reason: 'a', message: '' }];

  it.each<[string, MachineConfiguration, boolean]>([
    ['nothing differs', changed({}), false],
    ['lists have another order', changed(filesOf([...files].reverse())), false],
    ['others write beside it', changed({ conditions: [...others, ...status.conditions] }), false],
    ['there is none yet', object, true],
    ['its spec has changed', { ...stored(policies('/etc/b'), 2), status }, true],
    ['only its generation has', { ...stored(policies('/etc/mine'), 2), status }, true],
    ['a person has changed it', changed(filesOf(files.slice(1))), true],
    ['it is no status', { ...object, status: 'x' }, true],
    ['its condition is gone', changed({ conditions: others }), true],
  ])('or is not, when %s', (_name, now, isWritten) => {
    expect(policyStatusDiffers(now, policyStatus(now, LATER))).toBe(isWritten);
  });
});
