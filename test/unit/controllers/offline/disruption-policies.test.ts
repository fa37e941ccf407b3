/** The rules of the MachineConfiguration's CRD, without an API server. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { disruptionProblems } from '../../../../core/disruption';
import { findingsOf, renderTexts } from './manifests';

const CRDS = join(__dirname, '../../../../deploy/crds');

describe('disruption policies', () => {
  const policyText = (spec: string): string =>
    `apiVersion: operator.openshift.io/v1\nkind: MachineConfiguration\nmetadata:\n  name: cluster\nspec:\n${spec}`;

  it('breaks no rule', () => {
    const text = policyText(`  nodeDisruptionPolicy:
    files:
      - {path: /etc/a, actions: [{type: DaemonReload}, {type: Restart, restart: {serviceName: a.service}}]}
      - {path: /etc/b, actions: [{type: Reload, reload: {serviceName: 'b@1.timer'}}]}
    units:
      - {name: a.service, actions: [{type: Drain}]}
    sshkey: {actions: [{type: None}]}
`);
    expect(findingsOf(renderTexts({ 'm.yaml': text }))).toEqual([]);
  });

  it('are refused where the API server would refuse them, each at its line', () => {
    const text = policyText(`  irreconcilableValidationOverrides: {storage: [Disks]}
  nodeDisruptionPolicy:
    files:
      - path: etc/a
        actions:
          - type: None
          - type: Drain
      - path: /etc/b
        actions: [{type: Reload, reload: {serviceName: crio}}]
      - path: /etc/b
        actions: [{type: Drain}]
    units:
      - name: a.service
        actions:
          - type: Drain
          - type: Reboot
      - name: a.service
        actions:
          - type: Restart
    sshkey:
      actions:
        - type: Drain
          restart: {serviceName: a.service}
`);
    const at = 'spec.nodeDisruptionPolicy';
    expect(findingsOf(renderTexts({ 'm.yaml': text }))).toEqual([
      'error m.yaml:6 spec.irreconcilableValidationOverrides.storage Slipway does not let disks, filesystems or RAID of a running machine differ from its config',
      `error m.yaml:9 ${at}.files[0].path path must be absolute`,
      `error m.yaml:11 ${at}.files[0].actions[0] a None action must be the only one`,
      `error m.yaml:14 ${at}.files[1].actions[0].reload.serviceName serviceName must be a systemd unit name with its suffix, for example crio.service`,
      `error m.yaml:15 ${at}.files[2].path path "/etc/b" has an entry already`,
      `error m.yaml:21 ${at}.units[0].actions[1] a Reboot action must be the only one`,
      `error m.yaml:22 ${at}.units[1].name name "a.service" has an entry already`,
      `error m.yaml:24 ${at}.units[1].actions[0] restart belongs to type Restart, and only to it`,
      `error m.yaml:28 ${at}.sshkey.actions[0].restart restart belongs to type Restart, and only to it`,
    ]);
  });

  it('are refused where they would have no effect, each at its line', () => {
    const text = policyText(`  nodeDisruptionPolicy:
    files:
      - {path: /, actions: [{type: None}]}
      - {path: /etc//a, actions: [{type: None}]}
      - {path: /etc/./a, actions: [{type: None}]}
      - {path: /etc/.., actions: [{type: None}]}
      - {path: /etc/..a/.b/, actions: [{type: None}]}
      - {path: /etc/a, actions: []}
    units:
      - {name: crio, actions: [{type: None}]}
      - {name: crio.service, actions: []}
    sshkey: {actions: []}
`);
    const at = 'spec.nodeDisruptionPolicy';
    const unclean = 'path must not contain //, /./ or /../, which the path of no file has';
    const suffix = 'name must be that of a systemd unit with its suffix, for example crio.service';
    expect(findingsOf(renderTexts({ 'm.yaml': text }))).toEqual([
      `error m.yaml:8 ${at}.files[0].path path / covers no file`,
      `error m.yaml:9 ${at}.files[1].path ${unclean}`,
      `error m.yaml:10 ${at}.files[2].path ${unclean}`,
      `error m.yaml:11 ${at}.files[3].path ${unclean}`,
      `error m.yaml:13 ${at}.files[5].actions actions must not be empty`,
      `error m.yaml:15 ${at}.units[0].name ${suffix}`,
      `error m.yaml:16 ${at}.units[1].actions actions must not be empty`,
    ]);
  });

  it('are refused when they restart or reload the host worker itself', () => {
    const text = policyText(`  nodeDisruptionPolicy:
    units:
      - name: slipway-host.service
        actions:
          - {type: DaemonReload}
          - {type: Restart, restart: {serviceName: slipway-host.service}}
`);
    expect(findingsOf(renderTexts({ 'm.yaml': text }))).toEqual([
      'error m.yaml:11 spec.nodeDisruptionPolicy.units[0].actions[1].restart.serviceName a host cannot restart or reload its own worker in the middle of an update',
    ]);
  });

  it('of an unknown type, or without a service, are refused as the schema says', () => {
    const text = policyText(`  nodeDisruptionPolicy:
    sshkey:
      actions:
        - type: Halt
        - {type: Reload, reload: {}}
`);
    const found = findingsOf(renderTexts({ 'm.yaml': text }));
    expect(found).toHaveLength(2);
    expect(found[0]).toMatch(/^error m.yaml:9 .*actions\[0\]\.type .*Reboot/);
    expect(found[1]).toMatch(/^error m.yaml:10 .*reload\.serviceName the field is missing$/);
  });

  it('are refused in the words of the CRD, all of its rules', () => {
    const crd = readFileSync(join(CRDS, 'machineconfigurations.yaml'), 'utf8');
    const rules = [...crd.matchAll(/^ +message: '?(.*?)'?$/gm)].map(([, message]) => message);
    const broken = disruptionProblems({
      irreconcilableValidationOverrides: { storage: ['Disks'] },
      nodeDisruptionPolicy: {
        files: [
          { path: 'a', actions: [{ type: 'Reload' }, { type: 'Restart' }] },
          { path: '/', actions: [] },
          { path: '/etc/../a', actions: [{ type: 'None' }] },
        ],
        units: [{ name: 'crio', actions: [{ type: 'None' }] }],
        sshkey: {
          actions: [
            { type: 'None' },
            { type: 'Reboot' },
            { type: 'Reload', reload: { serviceName: 'crio' } },
            { type: 'Restart', restart: { serviceName: 'slipway-host.service' } },
          ],
        },
      },
    });
    const said = broken.flatMap(({ problem, fix }) => [problem, `${problem}; ${fix}`]);
    // The name of the object is checked with the names of all kinds.
    const others = new Set(rules.filter((message) => message?.includes('its name must') !== true));
    expect(said).toEqual(expect.arrayContaining([...others]));
    expect(others.size).toBe(12);
  });
});
