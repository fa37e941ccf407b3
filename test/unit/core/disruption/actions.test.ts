import {
  closestFilePolicy,
  disruptionActions,
  legacyAction,
  mergeDisruptionPolicies,
  runnableActions,
  type DisruptionAction,
} from '../../../../core/disruption';
import { diffMachineConfigs, type MachineConfigDiff } from '../../../../core/machine-config/diff';

const config = { ignition: { version: '3.5.0' } };
const noDiff = diffMachineConfigs({ config }, { config });
const filesDiffer: MachineConfigDiff = { ...noDiff, files: true };

const none: DisruptionAction = { type: 'None' };
const reboot: DisruptionAction = { type: 'Reboot' };
const daemonReload: DisruptionAction = { type: 'DaemonReload' };
const reload = (serviceName: string): DisruptionAction => ({
  type: 'Reload',
  reload: { serviceName },
});
const restart = (serviceName: string): DisruptionAction => ({
  type: 'Restart',
  restart: { serviceName },
});

describe('policies', () => {
  it('keep every default that the user does not name', () => {
    expect(mergeDisruptionPolicies()).toEqual(mergeDisruptionPolicies({ sshkey: { actions: [] } }));
    expect(mergeDisruptionPolicies().files).toHaveLength(14);
  });

  it("put the user's in the place of a default with the same path or name", () => {
    const merged = mergeDisruptionPolicies({
      files: [
        { path: '/etc/containers/policy.json', actions: [reboot] },
        { path: '/etc/mine', actions: [none] },
      ],
      units: [{ name: 'iri-registry.service', actions: [none] }],
      sshkey: { actions: [{ type: 'Drain' }] },
    });
    expect(merged.files[2]).toEqual({ path: '/etc/containers/policy.json', actions: [reboot] });
    expect(merged.files.at(-1)?.path).toBe('/etc/mine');
    expect(merged.units).toEqual([{ name: 'iri-registry.service', actions: [none] }]);
    expect(merged.sshkey.actions).toEqual([{ type: 'Drain' }]);
  });

  it.each([
    ['/etc/my/sub/file', '/etc/my/sub'],
    ['/etc/my/file', '/etc/my'],
    ['/etc/my', '/etc/my'],
    ['/etc/my/../my/file', '/etc/my'],
    ['/etc/slash/file', '/etc/slash/'],
    ['/etc/myfile', undefined],
    ['/etc', undefined],
    ['/other', undefined],
  ])('%s is covered by %s', (path, expected) => {
    const policies = ['/', '', '/etc/my', '/etc/my/sub', '/etc/slash/'].map((policy) => ({
      path: policy,
      actions: [none],
    }));
    expect(closestFilePolicy(path, policies)?.path).toBe(expected);
  });

  it('take the first of two for one path', () => {
    const policies = [none, reboot].map((action) => ({ path: '/a', actions: [action] }));
    expect(closestFilePolicy('/a', policies)).toBe(policies[0]);
  });
});

describe('actions', () => {
  const policies = mergeDisruptionPolicies({
    files: [
      { path: '/quiet', actions: [none] },
      { path: '/reload', actions: [reload('a.service')] },
      { path: '/reboot', actions: [reload('a.service'), reboot] },
      { path: '/nothing', actions: [] },
    ],
  });
  const actionsFor = (...files: readonly string[]): readonly DisruptionAction[] =>
    disruptionActions({ diff: filesDiffer, files, units: [] }, policies);

  it.each([
    [['/uncovered', '/reload'], [reboot]],
    [['/reboot'], [reboot]],
    [['/quiet', '/reload', '/quiet'], [reload('a.service')]],
    [
      ['/reload', '/reload'],
      [reload('a.service'), reload('a.service')],
    ],
    [['/quiet', '/quiet'], [none]],
    [['/nothing'], []],
    [[], []],
  ])('of %j', (files, expected) => {
    expect(actionsFor(...files)).toEqual(expected);
  });

  it.each(['osUpdate', 'kargs', 'fips', 'kernelType', 'extensions'] as const)(
    'are a reboot when %s differs',
    (flag) => {
      const diff = { ...noDiff, [flag]: true };
      expect(disruptionActions({ diff, files: ['/quiet'], units: [] }, policies)).toEqual([reboot]);
    },
  );

  it('are None without a difference', () => {
    expect(disruptionActions({ diff: noDiff, files: [], units: [] }, policies)).toEqual([none]);
  });
});

describe('what really runs', () => {
  it.each<[string, readonly DisruptionAction[], readonly DisruptionAction[]]>([
    ['nothing', [none], []],
    ['the drain is no action of its own', [{ type: 'Drain' }], []],
    ['Special reloads CRI-O', [{ type: 'Special' }], [reload('crio.service')]],
    [
      'each once',
      [restart('a'), reload('b'), restart('a'), reload('b')],
      [restart('a'), reload('b')],
    ],
    ['a restart includes the reload', [reload('a'), restart('a')], [restart('a')]],
    [
      'units are reloaded before restarts',
      [restart('a'), daemonReload],
      [daemonReload, restart('a')],
    ],
    ['a reboot replaces everything', [restart('a'), reboot], [reboot]],
  ])('%s', (_, actions, expected) => {
    expect(runnableActions(actions)).toEqual(expected);
  });
});

describe("MCO's fixed rules", () => {
  const pullSecret = '/var/lib/kubelet/config.json';
  const bundle = '/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt';

  it.each([
    [[], 'none'],
    [[pullSecret, '/etc/kubernetes/kubelet-ca.crt', '/etc/nmstate/openshift/x.yml'], 'none'],
    [['/etc/nmstate/openshift/sub/x.yml'], 'reboot'],
    [[pullSecret, '/etc/containers/registries.conf'], 'reload crio'],
    [['/etc/containers/registries.d/x.yaml'], 'reload crio'],
    [[bundle, '/etc/containers/policy.json'], 'restart crio'],
    [['/etc/containers/policy.json', bundle], 'restart crio'],
    [[bundle, '/etc/other'], 'reboot'],
  ])('%j: %s', (files, expected) => {
    expect(legacyAction(filesDiffer, files)).toBe(expected);
  });

  it('reboot for units and for the system, not for users', () => {
    expect(legacyAction({ ...noDiff, units: true }, [])).toBe('reboot');
    expect(legacyAction({ ...noDiff, kargs: true }, [])).toBe('reboot');
    expect(legacyAction({ ...noDiff, passwd: true }, [])).toBe('none');
  });
});
