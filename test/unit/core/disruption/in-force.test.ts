/** Which policies hold, by what the MachineConfiguration has in its spec and in its status. */

import {
  DEFAULT_DISRUPTION_POLICIES,
  mergeDisruptionPolicies,
  policyInForce,
  policyProblemsText,
} from '../../../../core/disruption';

const metadata = { name: 'cluster' };
const none = [{ type: 'None' }];
const restart = (serviceName: string) => [{ type: 'Restart', restart: { serviceName } }];
const ofSpec = (nodeDisruptionPolicy: unknown, status?: unknown) =>
  policyInForce({ metadata, spec: { nodeDisruptionPolicy }, status });
const IN_SPEC = 'spec.nodeDisruptionPolicy';
const IN_STATUS = 'status.nodeDisruptionPolicyStatus.clusterPolicies';

it('are those of the spec, each with its field', () => {
  const policy = {
    files: [
      { path: '/etc/a', actions: [{ type: 'Reload', reload: { serviceName: 'a.service' } }] },
      { path: '/etc/b/', actions: restart('getty@tty1.service') },
    ],
    units: [{ name: 'b@1.service', actions: [{ type: 'None', reload: null }] }],
    sshkey: { actions: [{ type: 'Drain' }, { type: 'DaemonReload' }] },
  };

  expect(ofSpec(policy)).toEqual({
    problems: [],
    policy: {
      files: policy.files.map((one, i) => ({ ...one, field: `${IN_SPEC}.files[${i}]` })),
      units: [{ name: 'b@1.service', actions: none, field: `${IN_SPEC}.units[0]` }],
      sshkey: { ...policy.sshkey, field: `${IN_SPEC}.sshkey` },
    },
  });
});

it.each([
  ['no object', undefined],
  ['no spec', { metadata }],
  ['no policy', { metadata, spec: {} }],
  ['nulls', { metadata, spec: { nodeDisruptionPolicy: null } }],
  [
    'null members',
    { metadata, spec: { nodeDisruptionPolicy: { files: null, units: null, sshkey: null } } },
  ],
])('are the defaults with %s', (_name, object) => {
  const { policy, problems } = policyInForce(object);

  expect(problems).toEqual([]);
  expect(mergeDisruptionPolicies(policy)).toEqual(DEFAULT_DISRUPTION_POLICIES);
});

it.each<[string, unknown, string]>([
  ['a list', [], ': fields are missing; write them below it, indented'],
  ['a text', 'None', ': fields are missing; write them below it, indented'],
  ['a text for files', { files: 'x' }, '.files: a list is missing; write an entry per line'],
  ['a number for units', { units: 4 }, '.units: a list is missing; write an entry per line'],
  ['SSH keys without actions', { sshkey: {} }, '.sshkey.actions: a list is missing'],
  ['no path', { files: [{ actions: none }] }, '.files[0].path: a text is missing; write it'],
  ['no name', { units: [{ name: '', actions: none }] }, '.units[0].name: a text is missing'],
  ['no actions', { files: [{ path: '/a' }] }, '.files[0].actions: a list is missing'],
  [
    'an unknown type',
    { files: [{ path: '/a', actions: [{ type: 'None' }, { type: 'Whatever' }] }] },
    '.files[0].actions[1].type: no such type of action; write one of Reboot, Drain, Reload, Restart, DaemonReload, None',
  ],
  [
    'the action that only registries.conf has',
    { files: [{ path: '/a', actions: [{ type: 'Special' }] }] },
    '.files[0].actions[0].type: no such type of action',
  ],
  [
    'a restart without a service',
    { files: [{ path: '/a', actions: [{ type: 'Restart', restart: {} }] }] },
    '.files[0].actions[0].restart.serviceName: a text is missing',
  ],
  [
    'a relative path',
    { files: [{ path: 'etc/a', actions: none }] },
    '.files[0].path: path must be absolute; begin it with /',
  ],
  [
    'the host worker itself',
    { units: [{ name: 'a.service', actions: restart('slipway-host.service') }] },
    '.units[0].actions[0].restart.serviceName: a host cannot restart or reload its own worker in the middle of an update; use a Reboot action, which starts it again, too',
  ],
  [
    'an entry that says nothing',
    { units: [{ name: 'a.service', actions: [] }] },
    '.units[0].actions: actions must not be empty; write {type: None} where a change costs nothing, or remove the entry',
  ],
])('are not those of a spec with %s, which is named', (_name, value, text) => {
  const { policy, problems } = ofSpec(value);

  expect(policyProblemsText(problems)).toContain(`MachineConfiguration cluster: ${IN_SPEC}${text}`);
  expect(mergeDisruptionPolicies(policy)).toEqual(DEFAULT_DISRUPTION_POLICIES);
});

describe('with a wrong spec', () => {
  const wrong = {
    files: [
      { path: '/etc/new', actions: none },
      { path: '/etc/new', actions: none },
    ],
  };
  const before = mergeDisruptionPolicies({
    files: [
      { path: '/etc/mine', actions: [{ type: 'None' }] },
      { path: '/etc/containers/policy.json', actions: [{ type: 'Reboot' }] },
    ],
    sshkey: { actions: [{ type: 'Drain' }] },
  });
  const withStatus = (clusterPolicies: unknown) =>
    ofSpec(wrong, { nodeDisruptionPolicyStatus: { clusterPolicies } });

  it('are those of the status, as a whole, and none of the spec', () => {
    const { policy, problems } = withStatus(before);

    expect(problems).toHaveLength(1);
    expect(policy).toEqual({
      files: [
        {
          path: '/etc/containers/policy.json',
          actions: [{ type: 'Reboot' }],
          field: `${IN_STATUS}.files[2]`,
        },
        { path: '/etc/mine', actions: none, field: `${IN_STATUS}.files[14]` },
      ],
      units: [],
      sshkey: { actions: [{ type: 'Drain' }], field: `${IN_STATUS}.sshkey` },
    });
  });

  it.each([
    ['has none', undefined],
    ['has only defaults', DEFAULT_DISRUPTION_POLICIES],
    ['is wrong, too', { files: [{ path: 'relative', actions: none }] }],
  ])('are the defaults where the status %s', (_name, clusterPolicies) => {
    const { policy } = withStatus(clusterPolicies);

    expect(mergeDisruptionPolicies(policy)).toEqual(DEFAULT_DISRUPTION_POLICIES);
  });
});
