import { gunzipSync } from 'node:zlib';
import { parse as parseToml } from 'smol-toml';

import { mergeDisruptionPolicies, type NodeDisruptionPolicy } from '../../../../core/disruption';
import type { IgnitionFile, RenderedSpec } from '../../../../core/machine-config/types';
import {
  describePlan,
  planUpdate,
  type OsState,
  type UpdatePlan,
} from '../../../../core/node/plan';

const ports = { parseToml, gunzip: (bytes: Uint8Array) => gunzipSync(bytes) };

function spec(parts: Partial<RenderedSpec> & { readonly files?: readonly IgnitionFile[] } = {}) {
  const { files = [], ...rest } = parts;
  return {
    osImageURL: 'quay.io/x/os@sha256:1',
    baseOSExtensionsContainerImage: '',
    config: { ignition: { version: '3.5.0' }, storage: { files } },
    kernelArguments: [],
    extensions: [],
    fips: false,
    kernelType: '',
    ...rest,
  } satisfies RenderedSpec;
}

const file = (path: string, text = '1'): IgnitionFile => ({
  path,
  contents: { source: `data:,${encodeURIComponent(text)}` },
});

function plan(
  current: RenderedSpec | undefined,
  desired: RenderedSpec,
  more: { readonly user?: NodeDisruptionPolicy; readonly osState?: OsState } = {},
): UpdatePlan {
  const { user, osState } = more;
  return planUpdate({
    current,
    desired,
    policies: mergeDisruptionPolicies(user),
    ports,
    ...(osState === undefined ? {} : { osState }),
  });
}

const phasesOf = ({ phases }: UpdatePlan): readonly string[] => phases.map(({ phase }) => phase);

const REBOOTING = ['Prepare', 'Cordon', 'Drain', 'ApplyOS', 'Reboot', 'Verify', 'Uncordon'];

describe('the phases of an update', () => {
  it.each([
    ['nothing differs', spec(), spec(), ['Prepare', 'Verify'], 'nothing to do'],
    [
      'kernel arguments',
      spec({ kernelArguments: ['quiet'] }),
      spec({ kernelArguments: ['nosmt'] }),
      REBOOTING,
      'reboot: kernel arguments changed (+nosmt -quiet)',
    ],
    [
      'values of kernel arguments, which are not told',
      spec({ kernelArguments: ['luks.key=0ld quiet'] }),
      spec({ kernelArguments: ['luks.key=s3cret', 'quiet'] }),
      REBOOTING,
      'reboot: kernel arguments changed (+luks.key=… -luks.key=…)',
    ],
    [
      'the order of kernel arguments',
      spec({ kernelArguments: ['a', 'b'] }),
      spec({ kernelArguments: ['b', 'a'] }),
      REBOOTING,
      'reboot: kernel arguments reordered',
    ],
    [
      'the OS image',
      spec(),
      spec({ osImageURL: `quay.io/x/os@sha256:${'2'.repeat(64)}` }),
      REBOOTING,
      'reboot: OS image changed (to quay.io/x/os@sha256:222222222222)',
    ],
    [
      'kernel type and extensions',
      spec({ extensions: ['sysstat'] }),
      spec({ kernelType: 'realtime', extensions: ['usbguard'] }),
      REBOOTING,
      'reboot: kernel changed (default to realtime), extensions changed (+usbguard -sysstat)',
    ],
    [
      'a file that no policy covers',
      spec(),
      spec({ files: [file('/etc/foo')] }),
      ['Prepare', 'Cordon', 'Drain', 'ApplyFiles', 'Reboot', 'Verify', 'Uncordon'],
      'reboot: file /etc/foo changed',
    ],
    [
      'a file that a running service reads',
      spec({ files: [file('/etc/containers/policy.json')] }),
      spec(),
      ['Prepare', 'ApplyFiles', 'ReloadServices', 'Verify'],
      'reload crio.service: file /etc/containers/policy.json removed',
    ],
    [
      'a file that costs nothing',
      spec(),
      spec({ files: [file('/var/lib/kubelet/config.json')] }),
      ['Prepare', 'ApplyFiles', 'Verify'],
      'no disruption: file /var/lib/kubelet/config.json changed',
    ],
    [
      'the order of files',
      spec({ files: [file('/a'), file('/b')] }),
      spec({ files: [file('/b'), file('/a')] }),
      ['Prepare', 'Verify'],
      'nothing to do',
    ],
    [
      'a reload beside a reboot',
      spec(),
      spec({ files: [file('/etc/containers/policy.json'), file('/etc/foo')] }),
      ['Prepare', 'Cordon', 'Drain', 'ApplyFiles', 'Reboot', 'Verify', 'Uncordon'],
      'reboot: file /etc/foo changed',
    ],
    [
      'many files',
      spec(),
      spec({ files: ['/e', '/d', '/c', '/b', '/a'].map((path) => file(path)) }),
      ['Prepare', 'Cordon', 'Drain', 'ApplyFiles', 'Reboot', 'Verify', 'Uncordon'],
      'reboot: file /a changed, file /b changed, file /c changed and 2 more',
    ],
  ])('%s', (_, current, desired, phases, summary) => {
    const planned = plan(current, desired);
    expect(phasesOf(planned)).toEqual(phases);
    expect(planned.summary).toBe(summary);
    expect(planned.reconcilable).toEqual({ ok: true });
    expect(planned.reboot).toBe(phases.includes('Reboot'));
    expect(planned.drain).toBe(phases.includes('Drain'));
  });
});

describe('registries.conf', () => {
  const conf = (text: string): RenderedSpec =>
    spec({ files: [file('/etc/containers/registries.conf', text)] });
  const registry = '[[registry]]\nlocation = "r.io"\n';

  it('goes in under running pods when none can notice', () => {
    const planned = plan(conf(''), conf(`${registry}mirror-by-digest-only = true\n`));
    expect(phasesOf(planned)).toEqual(['Prepare', 'ApplyFiles', 'ReloadServices', 'Verify']);
    expect(describePlan(planned)).toEqual([
      'reload crio.service: file /etc/containers/registries.conf changed',
      '  file /etc/containers/registries.conf changed: reload crio.service' +
        ' (default of the cluster: /etc/containers/registries.conf: no running pod can notice)',
    ]);
  });

  it('drains first otherwise, and says why', () => {
    const planned = plan(conf(registry), conf(''));
    expect(phasesOf(planned)).toEqual([
      'Prepare',
      'Cordon',
      'Drain',
      'ApplyFiles',
      'ReloadServices',
      'Verify',
      'Uncordon',
    ]);
    expect(planned.phases.find(({ phase }) => phase === 'Drain')?.reason).toBe(
      'registry r.io is removed',
    );
    expect(planned.summary).toBe(
      'drain, reload crio.service: file /etc/containers/registries.conf changed',
    );
  });

  it('that is not TOML cannot be applied, and nothing is disturbed', () => {
    const planned = plan(conf(''), conf('broken'));
    expect(phasesOf(planned)).toEqual(['Prepare']);
    expect(planned).toMatchObject({ drain: false, reboot: false, actions: [] });
    expect(planned.summary).toBe(
      'cannot be applied: failed decoding TOML content from file ' +
        '/etc/containers/registries.conf: toml: line 1, column 1: incomplete key-value: cannot find end of key',
    );
  });
});

describe('users and units', () => {
  const withUser = (user: {
    readonly sshAuthorizedKeys?: readonly string[];
    readonly passwordHash?: string;
  }) =>
    spec({
      config: { ignition: { version: '3.5.0' }, passwd: { users: [{ name: 'core', ...user }] } },
    });

  it('tells keys from passwords', () => {
    const planned = plan(
      withUser({ sshAuthorizedKeys: ['a'] }),
      withUser({ sshAuthorizedKeys: ['b'], passwordHash: '$6$' }),
    );
    expect(planned).toMatchObject({ sshKeysChanged: true, passwordChanged: true, drain: false });
    expect(planned.phases[1]).toEqual({ phase: 'ApplyFiles', reason: 'SSH keys, password' });
    expect(planned.summary).toBe('no disruption: SSH keys changed, password changed');
  });

  it('drains for SSH keys when the user says so', () => {
    const user = { sshkey: { actions: [{ type: 'Drain' }] } } as const;
    const planned = plan(
      withUser({ sshAuthorizedKeys: ['a'] }),
      withUser({ sshAuthorizedKeys: ['b'] }),
      { user },
    );
    expect(planned).toMatchObject({ drain: true, reboot: false, actions: [] });
    expect(planned.summary).toBe('drain: SSH keys changed');
  });

  it('restarts each service once, after reloading units', () => {
    const units = (text: string): RenderedSpec =>
      spec({
        config: {
          ignition: { version: '3.5.0' },
          systemd: {
            units: ['b', 'a'].map((name) => ({ name: `${name}.service`, contents: text })),
          },
        },
      });
    const actions = [
      { type: 'Restart', restart: { serviceName: 'a.service' } },
      { type: 'DaemonReload' },
    ] as const;
    const user = { units: ['a', 'b'].map((name) => ({ name: `${name}.service`, actions })) };
    const planned = plan(units('1'), units('2'), { user });
    expect(planned.units).toEqual({ changed: ['a.service', 'b.service'], removed: [] });
    expect(planned.actions).toEqual([actions[1], actions[0]]);
    expect(planned.phases.find(({ phase }) => phase === 'ReloadServices')?.reason).toBe(
      'reload systemd units, restart a.service',
    );
  });
});

describe('what really runs on the machine', () => {
  const desired = spec({ osImageURL: 'new', kernelArguments: ['a', 'b'] });

  it('goes before what was recorded: an image that is booted already is no change', () => {
    const current = spec({ osImageURL: 'old', kernelArguments: ['a', 'b'] });
    expect(plan(current, desired, { osState: { bootedImage: 'new' } }).reboot).toBe(false);
    expect(plan(desired, desired, { osState: { bootedImage: 'old' } }).osImage).toEqual({
      from: 'old',
      to: 'new',
    });
  });

  it('shows configured arguments that are not in force, and leaves others alone', () => {
    const missing = plan(desired, desired, { osState: { kernelArguments: ['root=x', 'b'] } });
    expect(missing.kernelArguments).toEqual({ add: ['a'], remove: [] });
    const present = plan(desired, desired, { osState: { kernelArguments: ['root=x', 'b', 'a'] } });
    expect(present.summary).toBe('nothing to do');
    const together = spec({ osImageURL: 'new', kernelArguments: ['a b'] });
    const seen = plan(together, together, { osState: { kernelArguments: ['b', 'a'] } });
    expect(seen.summary).toBe('nothing to do');
  });

  it('has arguments in the spelling of the boot loader', () => {
    const entries = ['cgroup_no_v1="all"', 'dyndbg="file foo.c +p" nosmt'];
    const running = ['root=x', 'nosmt', 'cgroup_no_v1=all', '"dyndbg=file foo.c +p"'];
    const full = spec({ osImageURL: 'new', kernelArguments: entries });
    const none = spec({ osImageURL: 'new' });
    const osState = { kernelArguments: running };
    expect(plan(full, full, { osState }).summary).toBe('nothing to do');
    expect(plan(undefined, full, { osState: { ...osState, bootedImage: 'new' } }).reboot).toBe(
      false,
    );
    expect(plan(full, none, { osState })).toMatchObject({
      kernelArguments: { add: [], remove: ['cgroup_no_v1=…', 'dyndbg=…', 'nosmt'] },
      reboot: true,
    });
    expect(plan(none, full, { osState: { kernelArguments: ['root=x'] } })).toMatchObject({
      kernelArguments: { add: ['cgroup_no_v1=…', 'dyndbg=…', 'nosmt'], remove: [] },
      reboot: true,
    });
  });

  it.each([
    [['k="a b"', 'c'], ['"k=a b" c']],
    [['nosmt'], ['nosmt', '']],
    [[], ['', ' ']],
  ])('is not changed by other entries for the same arguments: %j to %j', (before, after) => {
    const osState = { kernelArguments: ['root=x', '"k=a b"', 'c', 'nosmt'] };
    for (const [from, to] of [
      [before, after],
      [after, before],
    ] as const) {
      const [old, desired] = [spec({ kernelArguments: from }), spec({ kernelArguments: to })];
      expect(plan(old, desired).summary).toBe('nothing to do');
      expect(plan(old, desired, { osState }).summary).toBe('nothing to do');
    }
  });

  it('is everything that is known of a machine without a config', () => {
    const files = [file('/var/lib/kubelet/config.json')];
    const first = spec({ osImageURL: 'new', kernelArguments: ['a'], files });
    expect(plan(undefined, first)).toMatchObject({
      osImage: { to: 'new' },
      kernelArguments: { add: ['a'], remove: [] },
      reboot: true,
    });
    const osState = { bootedImage: 'new', kernelArguments: ['a'] };
    expect(plan(undefined, first, { osState })).toMatchObject({
      reboot: false,
      files: { changed: ['/var/lib/kubelet/config.json'], removed: [] },
    });
  });

  it('stays when no image is wanted', () => {
    const planned = plan(spec({ osImageURL: 'old' }), spec({ osImageURL: '' }));
    expect(planned.summary).toBe('nothing to do');
  });
});

describe('a difference that a running machine cannot take', () => {
  const config = (parts: Partial<RenderedSpec['config']>): RenderedSpec =>
    spec({ config: { ignition: { version: '3.5.0' }, ...parts } });

  it.each([
    [
      'FIPS mode',
      spec({ fips: true, kernelArguments: ['a'] }),
      'detected change to FIPS flag; refusing to modify FIPS on a running cluster',
    ],
    [
      'a directory',
      config({ storage: { directories: [{ path: '/d' }] } }),
      'ignition directories section contains changes',
    ],
    [
      'another user',
      config({ passwd: { users: [{ name: 'eve', sshAuthorizedKeys: ['a'] }] } }),
      'invalid passwd change(s): ignition passwd user section contains unsupported changes: non-core user',
    ],
  ])('%s is refused with the reason, and nothing is disturbed', (_, desired, reason) => {
    const planned = plan(config({}), desired);
    expect(planned.reconcilable).toEqual({ ok: false, reason });
    expect(planned.phases).toEqual([{ phase: 'Prepare', reason }]);
    expect(planned).toMatchObject({ drain: false, reboot: false, actions: [] });
    expect(planned.summary).toBe(`cannot be applied: ${reason}`);
  });

  it('is none to a machine that Ignition has just made', () => {
    const desired = config({ storage: { directories: [{ path: '/d' }] } });
    expect(plan(undefined, desired).reconcilable).toEqual({ ok: true });
  });
});

describe('a plan', () => {
  const current = spec({ files: [file('/etc/secret', 'old-password')] });
  const files = [file('/etc/secret', 'new-password'), file('/b'), file('/a')];
  const desired = spec({ files });

  it('is plain JSON without any file content', () => {
    const text = JSON.stringify(plan(current, desired));
    expect(JSON.parse(text)).toEqual(plan(current, desired));
    expect(text).not.toMatch(/password"|old-password|new-password/);
  });

  it('does not depend on the order of the files in the config', () => {
    const reversed = spec({ files: [...files].reverse() });
    expect(plan(current, reversed)).toEqual(plan(current, desired));
  });

  it('shows a person what each change costs and which rule decided, also in fields', () => {
    const field = 'spec.nodeDisruptionPolicy.files[0]';
    const user = { files: [{ path: '/a', actions: [], field }] };
    const planned = plan(current, desired, { user });
    expect(describePlan(planned)).toEqual([
      'reboot: file /b changed, file /etc/secret changed',
      '  file /a changed: nothing (MachineConfiguration cluster, files[0]: /a)',
      '  file /b changed: reboot (no disruption policy covers it)',
      '  file /etc/secret changed: reboot (no disruption policy covers it)',
    ]);
    expect(planned.changes.map(({ rule }) => rule)).toEqual([
      { from: 'MachineConfiguration', field, covers: '/a' },
      { from: 'NoPolicy' },
      { from: 'NoPolicy' },
    ]);
  });

  it('stays short where one rule decides about many changes', () => {
    const many = Array.from({ length: 300 }, (_, i) =>
      file(`/etc/many/${String(i).padStart(3, '0')}`),
    );
    const few = ['1', '2', '3', '4', '5'].map((name) => file(`/etc/crio/policies/${name}`));
    const described = describePlan(plan(spec(), spec({ files: [...many, ...few] })));
    const reload = 'reload crio.service (default of the cluster: /etc/crio/policies)';
    expect(described.slice(1)).toEqual([
      ...few.map(({ path }) => `  file ${path} changed: ${reload}`),
      '  file /etc/many/000 changed, file /etc/many/001 changed, file /etc/many/002 changed' +
        ' and 297 more: reboot (no disruption policy covers it)',
    ]);
  });
});
