/** Which rule decides about a change, and how a person reads it. */

import { mergeDisruptionPolicies, policyInForce } from '../../../../core/disruption';
import {
  AT_BOOT,
  decisionForFile,
  decisionForUnit,
  decisionForUsers,
  ruleText,
} from '../../../../core/node/plan-rules';

const none = [{ type: 'None' }];
const nodeDisruptionPolicy = {
  files: [
    { path: '/etc/mine', actions: none },
    { path: '/etc/containers/policy.json', actions: [{ type: 'Drain' }] },
    { path: '/etc/mine/more', actions: [{ type: 'DaemonReload' }] },
  ],
  units: [{ name: 'a.service', actions: none }],
  sshkey: { actions: [{ type: 'Drain' }] },
};
const metadata = { name: 'cluster' };
const policiesOf = (spec: object, status = {}) =>
  mergeDisruptionPolicies(policyInForce({ metadata, spec, status }).policy);

const own = policiesOf({ nodeDisruptionPolicy });
const defaults = mergeDisruptionPolicies();
/** A wrong spec leaves what the status has. */
const kept = policiesOf(
  { nodeDisruptionPolicy: { files: [{ path: 'relative', actions: none }] } },
  { nodeDisruptionPolicyStatus: { clusterPolicies: own } },
);

it.each([
  ['a file of its own policy', decisionForFile('/etc/mine', own), 'files[0]: /etc/mine', 'None'],
  ['a file below a directory', decisionForFile('/etc/mine/a', own), 'files[0]: /etc/mine', 'None'],
  [
    'the longest path',
    decisionForFile('/etc/mine/more/a', own),
    'files[2]: /etc/mine/more',
    'DaemonReload',
  ],
  [
    'a policy in place of a default',
    decisionForFile('/etc/containers/policy.json', own),
    'files[1]: /etc/containers/policy.json',
    'Drain',
  ],
  ['a unit', decisionForUnit('a.service', own), 'units[0]: a.service', 'None'],
  ['users', decisionForUsers(own), 'sshkey', 'Drain'],
  [
    'a policy that was kept',
    decisionForFile('/etc/mine/a', kept),
    'files[14] of its status: /etc/mine',
    'None',
  ],
  ['SSH keys that were kept', decisionForUsers(kept), 'sshkey of its status', 'Drain'],
])('%s is decided by a field of the MachineConfiguration', (_, { cost, rule }, text, type) => {
  expect(ruleText(rule)).toBe(`MachineConfiguration cluster, ${text}`);
  expect(cost.map((action) => action.type)).toEqual([type]);
});

it.each([
  [decisionForFile('/etc/nmstate/openshift/a.yml', own), '/etc/nmstate/openshift'],
  [decisionForFile('/etc/nmstate/openshift/a.yml', kept), '/etc/nmstate/openshift'],
  [decisionForUnit('iri-registry.service', own), 'iri-registry.service'],
  [decisionForUsers(defaults), 'sshkey'],
])('a default is named as one: %#', ({ rule }, covers) => {
  expect(rule).toEqual({ from: 'Default', covers });
  expect(ruleText(rule)).toBe(`default of the cluster: ${covers}`);
});

it.each([
  ['a file', decisionForFile('/etc/other', own), 'no disruption policy covers it'],
  ['a unit', decisionForUnit('b.service', own), 'no disruption policy covers it'],
  ['the operating system', AT_BOOT, 'it takes effect at a boot only'],
])('%s without a policy costs a reboot', (_, { cost, rule }, text) => {
  expect(cost).toEqual([{ type: 'Reboot' }]);
  expect(ruleText(rule)).toBe(text);
});
