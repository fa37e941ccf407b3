import { failureName, messageOf } from '../../../../core/errors';
import {
  admissionProblems,
  describeProblem,
  IMAGE_FIX,
  refuseInadmissible,
  type MachineConfigSpec,
} from '../../../../core/machine-config';
import { nodePorts } from '../../../conformance/render-ports';
import { files, ignition, machineConfig, units } from './builders';

const problemsOf = (...specs: readonly MachineConfigSpec[]): readonly string[] =>
  admissionProblems(
    specs.map((spec, i) => machineConfig(`${i}`, spec)),
    nodePorts,
  ).map(describeProblem);

const file = (more: object): MachineConfigSpec => ({
  config: files({ path: '/etc/a', contents: { source: 'data:,1' }, ...more }),
});
const IMAGE = `registry.example:5000/os:1.2@sha256:${'1'.repeat(64)}`;
/** SHA-256 of `hello`. */
const HELLO = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
const FILE = 'MachineConfig 0: spec.config.storage.files[0]';

describe('sound MachineConfigs have no problems', () => {
  test.each<[string, MachineConfigSpec]>([
    ['nothing', {}],
    ['null for a config', { config: null }],
    ['a file', file({ mode: 420 })],
    [
      'a key that takes effect without a reboot',
      file({ path: '/etc/machine-config-daemon/no-reboot/containers-gpg.pub' }),
    ],
    ['an empty file', file({ contents: { source: 'data:,' } })],
    ['contents and more', file({ append: [{ source: 'data:,2' }] })],
    [
      'a file that is only appended to',
      { config: files({ path: '/etc/a', append: [{ source: 'data:,1' }] }) },
    ],
    [
      'gzip',
      file({
        contents: {
          compression: 'gzip',
          source: 'data:;base64,H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA==',
        },
      }),
    ],
    [
      'gzip with the hash of what it unpacks to, in any case',
      file({
        contents: {
          compression: 'gzip',
          source: 'data:;base64,H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA==',
          verification: { hash: `sha256-${HELLO.toUpperCase()}` },
        },
      }),
    ],
    [
      'kernel arguments without effect, and several in a block of text',
      { kernelArguments: ['', '  ', '\n', 'a=1\nb="2 3"\n'] },
    ],
    [
      'null for every field',
      {
        osImageURL: null,
        baseOSExtensionsContainerImage: null,
        config: null,
        kernelArguments: null,
        extensions: null,
        fips: null,
        kernelType: null,
      } as unknown as MachineConfigSpec,
    ],
    [
      'nulls in the config, which are absent for Go',
      {
        config: {
          ignition: { version: '3.2.0', config: null, proxy: null, security: { tls: null } },
          passwd: { groups: null, users: [{ name: 'core', sshAuthorizedKeys: null, uid: null }] },
          storage: {
            ...{ disks: null, raid: null, links: null, directories: null, filesystems: null },
            files: [
              {
                ...{ path: '/etc/a', mode: null, overwrite: null, user: null, append: null },
                contents: { source: 'data:,', compression: null, verification: { hash: null } },
              },
            ],
          },
          systemd: {
            units: [
              { name: 'a.service', contents: null, enabled: null, mask: null, dropins: null },
            ],
          },
        },
      },
    ],
    [
      'an old specification',
      {
        config: {
          ignition: { version: '2.2.0' },
          systemd: { units: [{ name: 'a.service', enabled: true }] },
        },
      },
    ],
    [
      'units that say something',
      {
        config: units(
          { name: 'a.service', mask: true },
          { name: 'b.service', dropins: [{ name: 'c.conf', contents: '[A]\n' }] },
        ),
      },
    ],
    [
      'units that say nothing, and empty drop-ins',
      {
        config: units(
          { name: 'a.service' },
          { name: 'b.service', dropins: [] },
          { name: 'c.socket', dropins: [{ name: 'd.conf', contents: '' }, { name: 'e.conf' }] },
        ),
      },
    ],
    [
      'a password',
      {
        config: ignition({ passwd: { users: [{ name: 'core', passwordHash: '$y$j9T$a./b$C' }] } }),
      },
    ],
    [
      'all other fields',
      {
        kernelType: '64k-pages',
        kernelArguments: ['a=1 b'],
        extensions: ['usbguard'],
        fips: true,
        osImageURL: IMAGE,
        baseOSExtensionsContainerImage: '',
      },
    ],
  ])('%s', (_, spec) => {
    expect(problemsOf(spec)).toEqual([]);
  });

  test('a file may leave the contents to another MachineConfig', () => {
    const onlyMode = { config: files({ path: '/etc/a', mode: 384 }) };
    expect(problemsOf(file({}), onlyMode)).toEqual([]);
  });
});

describe('each problem names the MachineConfig, the field and the fix', () => {
  test.each<[string, MachineConfigSpec, string]>([
    [
      'no version',
      { config: { storage: {} } },
      'MachineConfig 0: spec.config.ignition.version: the version of the config is missing; add it: ignition: {version: 3.5.0}',
    ],
    [
      'an unknown version',
      { config: { ignition: { version: '3.6.0' } } },
      'MachineConfig 0: spec.config.ignition.version: version "3.6.0" is not known; use 3.5.0 (known: 2.2, 3.0, 3.1, 3.2, 3.3, 3.4, 3.5)',
    ],
    [
      'a text for a config',
      { config: '{}' },
      'MachineConfig 0: spec.config: the config is a string and not an object; write the Ignition config as an object: config: {ignition: {version: 3.5.0}}',
    ],
    [
      'a list for a config',
      { config: [] },
      'MachineConfig 0: spec.config: the config is a list and not an object; write the Ignition config as an object: config: {ignition: {version: 3.5.0}}',
    ],
    [
      'a relative path',
      file({ path: 'etc/a' }),
      `${FILE}.path: path not absolute; begin the path with a slash`,
    ],
    [
      'a path twice',
      { config: files({ path: '/etc/a' }, { path: '/etc/a' }) },
      'MachineConfig 0: spec.config.storage.files[1]: duplicate entry defined; keep one of the entries',
    ],
    [
      'a mode of a wrong type',
      file({ mode: '0644' }),
      `${FILE}.mode: json: cannot unmarshal string into Go struct field File.storage.files.FileEmbedded1.mode of type int; give the field a value of the type that the message names`,
    ],
    [
      'setuid',
      file({ mode: 0o4755 }),
      `${FILE}.mode: mode 04755 has more than permission bits; use at most 511 (0777 in octal); setuid, setgid and sticky are not applied`,
    ],
    [
      'bad base 64',
      file({ contents: { source: 'data:;base64,a' } }),
      `${FILE}.contents.source: illegal base64 data at input byte 0; write the contents as a data URL: data:;base64,<contents>`,
    ],
    [
      'a bad data URL',
      file({ contents: { source: 'data:x' } }),
      `${FILE}.contents.source: missing media type slash; write the contents as a data URL: data:;base64,<contents>`,
    ],
    [
      'a remote source',
      file({ contents: { source: 'https://a.example/b' } }),
      `${FILE}.contents.source: hosts do not fetch remote contents; write the contents as a data URL: data:;base64,<contents>`,
    ],
    [
      'contents with the hash of others',
      file({ contents: { source: 'data:,hell', verification: { hash: `sha256-${HELLO}` } } }),
      `${FILE}.contents.verification.hash: the contents have another hash; write the hash of what the file will hold, after decompression, or leave verification out`,
    ],
    [
      'a hash that is not hexadecimal',
      file({
        contents: { source: 'data:,1', verification: { hash: `sha512-${'z'.repeat(128)}` } },
      }),
      `${FILE}.contents.verification.hash: the contents have another hash; write the hash of what the file will hold, after decompression, or leave verification out`,
    ],
    [
      'appending what has another hash',
      file({
        append: [{ source: 'data:,2', verification: { hash: `sha256-${HELLO}` } }],
      }),
      `${FILE}.append[0].verification.hash: the contents have another hash; write the hash of what the file will hold, after decompression, or leave verification out`,
    ],
    [
      'appending nothing',
      file({ append: [{ source: 'data:,1' }, {}] }),
      `${FILE}.append[1].source: there is nothing to append; add source, or leave the entry out`,
    ],
    [
      'appending what is elsewhere',
      file({ append: [{ source: 'https://example.test/a' }] }),
      `${FILE}.append[0].source: hosts do not fetch remote contents; write the contents as a data URL: data:;base64,<contents>`,
    ],
    [
      'no contents',
      { config: files({ path: '/etc/a' }) },
      `${FILE}.contents.source: no MachineConfig of the pool gives /etc/a contents; add contents: {source: "data:,"} for an empty file`,
    ],
    [
      'a unit without a type',
      { config: units({ name: 'a' }) },
      'MachineConfig 0: spec.config.systemd.units[0].name: invalid systemd unit extension; end the name with .service, .socket, .timer or another unit type',
    ],
    [
      'an unknown extension without a config',
      { extensions: ['usbguard', 'nope'] },
      'MachineConfig 0: spec.extensions[1]: "nope" is no extension; use one of two-node-ha, ipsec, usbguard, kerberos, kernel-devel, sandboxed-containers, sysstat',
    ],
    [
      'an unknown kernel type',
      { kernelType: 'rt' },
      'MachineConfig 0: spec.kernelType: "rt" is no kernel type; use one of default, realtime, 64k-pages',
    ],
    [
      'a kernel argument with a line break inside its quotes',
      { kernelArguments: ['a', 'b="1\n2"'] },
      'MachineConfig 0: spec.kernelArguments[1]: not a text on one line; write a text, quoted when it looks like a number',
    ],
    [
      'an image with a space',
      { osImageURL: 'a b' },
      `MachineConfig 0: spec.osImageURL: not the name of an image; ${IMAGE_FIX}`,
    ],
    [
      'an image with nothing but marks',
      { baseOSExtensionsContainerImage: '!!' },
      `MachineConfig 0: spec.baseOSExtensionsContainerImage: not the name of an image; ${IMAGE_FIX}`,
    ],
    ...['quay.io/x/os:latest', 'not-an-image', 'quay.io/x/os@sha256:1'].map(
      (osImageURL): [string, MachineConfigSpec, string] => [
        `the image ${osImageURL}`,
        { osImageURL },
        `MachineConfig 0: spec.osImageURL: the image has no digest, and a tag may be another image on the next host; ${IMAGE_FIX}`,
      ],
    ),
    [
      'a password with fields of its own',
      { config: ignition({ passwd: { users: [{ name: 'core', passwordHash: 'a:b' }] } }) },
      'MachineConfig 0: spec.config.passwd.users[0].passwordHash: it has a colon or a control character, which no hash has; make it with mkpasswd',
    ],
    [
      'a password with lines of its own, in an old specification',
      {
        config: {
          ignition: { version: '2.2.0' },
          passwd: { users: [{ name: 'core', passwordHash: '$6$a\nroot2' }] },
        },
      },
      'MachineConfig 0: spec.config.passwd.users[0].passwordHash: it has a colon or a control character, which no hash has; make it with mkpasswd',
    ],
  ])('%s', (_, spec, problem) => {
    expect(problemsOf(spec)).toContain(problem);
  });

  test('broken gzip', () => {
    const contents = { compression: 'gzip', source: 'data:,plain' };
    expect(problemsOf(file({ contents }))).toEqual([
      expect.stringMatching(
        /contents\.source: the contents are no gzip stream \(.*\); compress them with gzip/,
      ),
    ]);
  });

  test.each([
    '/run/machine-config-daemon-force',
    '/proc/a',
    '/run/a',
    '/var/run/a',
    '/var/tmp/a',
    '/etc/machine-config-daemon/currentconfig',
    '/etc/machine-config-daemon/currentimage',
    '/etc/machine-config-daemon/currentconfig/a',
    '/etc/machine-config-daemon/node-annotations.json',
    '/etc/machine-config-daemon/node-annotation.json.bak',
    '/etc/machine-config-daemon/orig/etc/a.mcdorig',
    '/etc/machine-config-daemon/noorig',
    '/etc/machine-config-daemon/bootstrapconfigdiff',
    '/etc/ignition-machine-config-encapsulated.json',
    '/etc/ignition-machine-config-encapsulated.json.bak',
    '/etc/mcs-machine-config-content.json',
    '/boot/a',
    '/var/lib/slipway/a',
  ])('no file at %s', (path) => {
    expect(problemsOf(file({ path }))).toEqual([
      expect.stringContaining(`${FILE}.path: no file may be at ${path}: `),
    ]);
  });

  test.each([
    ['/proc', 'the kernel owns this directory'],
    ['/sys', 'the kernel owns this directory'],
    ['/dev', 'the kernel owns this directory'],
    ['/run', 'this directory is empty after a reboot'],
    ['/var/run', 'this directory is empty after a reboot'],
    ['/tmp', 'this directory is emptied'],
    ['/etc/machine-config-daemon/orig', 'hosts record their config here'],
    ['/etc/machine-config-daemon', 'it is a directory on every host'],
    ['/var/lib/slipway', 'Slipway keeps its own state here'],
    ['/etc/slipway', 'Slipway keeps its own settings here'],
    ['/boot', 'the operating system owns this directory'],
    ['/sysroot', 'the operating system owns this directory'],
    ['/ostree', 'the operating system owns this directory'],
    ['/etc', 'it is a directory on every host'],
    ['/etc/kubernetes', 'it is a directory on every host'],
    ['/etc/systemd/system', 'it is a directory on every host'],
    ['/var', 'it is a directory on every host'],
    ...[
      '/home',
      '/home/core',
      '/home/core/.ssh',
      '/var/home/core',
      '/root',
      '/opt',
      '/srv',
      '/mnt',
      '/media',
      '/usr/local',
      '/bin',
      '/var/log',
      '/var/lib/kubelet',
      '/etc/ssh',
      '/etc/sysctl.d',
    ].map((path): [string, string] => [path, 'it is a directory on every host']),
  ])('no file in the place of the directory %s', (path, why) => {
    expect(problemsOf(file({ path }))).toEqual([
      `${FILE}.path: no file may be at ${path}: ${why}; choose another path`,
    ]);
  });

  test.each([
    ['the root', file({ path: '/' })],
    ['a zero byte', file({ path: '/etc/a\0b' })],
  ])('no file at %s', (_, spec) => {
    expect(problemsOf(spec)).toEqual([
      `${FILE}.path: the path is not absolute and normalised; remove doubled slashes, trailing slashes, "." and ".." from it`,
    ]);
  });

  test('no directory and no link in a refused place either', () => {
    const storage = {
      directories: [{ path: '/var/lib/slipway/journal' }, { path: '/proc' }, { path: '/' }],
      links: [
        { path: '/etc/slipway/host.yaml', target: '/dev/null' },
        { path: '/boot', target: '/opt' },
        { path: '/usr', target: '/opt' },
      ],
    };
    expect(problemsOf({ config: ignition({ storage }) })).toEqual([
      'MachineConfig 0: spec.config.storage.directories[0].path: no directory may be at /var/lib/slipway/journal: Slipway keeps its own state here; choose another path',
      'MachineConfig 0: spec.config.storage.directories[1].path: no directory may be at /proc: the kernel owns this directory; choose another path',
      expect.stringContaining('directories[2].path: the path is not absolute and normalised'),
      'MachineConfig 0: spec.config.storage.links[0].path: no link may be at /etc/slipway/host.yaml: Slipway keeps its own settings here; choose another path',
      'MachineConfig 0: spec.config.storage.links[1].path: no link may be at /boot: the operating system owns this directory; choose another path',
      'MachineConfig 0: spec.config.storage.links[2].path: no link may be at /usr: it is a directory on every host; choose another path',
    ]);
  });

  test('but directories and links in all others', () => {
    const storage = {
      directories: [
        { path: '/etc', mode: 493 },
        { path: '/var/lib/kubelet' },
        { path: '/etc/machine-config-daemon/no-reboot' },
        { path: '/etc/machine-config-daemon' },
      ],
      links: [
        { path: '/etc/localtime', target: '../usr/share/zoneinfo/UTC' },
        { path: '/etc/systemd/system/a.service', target: '/dev/null' },
        { path: '/opt', target: 'var/opt' },
      ],
    };
    expect(problemsOf({ config: ignition({ storage }) })).toEqual([]);
  });

  test.each(['../../evil.service', 'c/d.service', '/etc/evil.service'])(
    'no unit by the name of %s',
    (name) => {
      expect(problemsOf({ config: units({ name, contents: '[Unit]\n' }) })).toEqual([
        'MachineConfig 0: spec.config.systemd.units[0].name: a unit or drop-in name must be a plain file name; remove the slashes and what stands before them',
      ]);
    },
  );

  test.each([
    [{ mask: true }, 'mask: without it', 'do not mask it'],
    [{ enabled: false }, 'enabled: without it', 'leave it enabled'],
  ])('not the end of the host worker by %j', (says, problem, fix) => {
    for (const name of ['slipway-host.service', 'slipway-host-settle.service']) {
      const [found, ...more] = problemsOf({ config: units({ name, ...says }) });
      expect(found).toContain(`MachineConfig 0: spec.config.systemd.units[0].${problem}`);
      expect(found).toContain(fix);
      expect(more).toEqual([]);
    }
    expect(problemsOf({ config: units({ name: 'other.service', ...says }) })).toEqual([]);
  });

  test('but its unit, and drop-ins of it', () => {
    const dropins = [{ name: '10-proxy.conf', contents: '[Service]\n' }];
    const unit = { name: 'slipway-host.service', enabled: true, dropins };
    expect(problemsOf({ config: units(unit) })).toEqual([]);
  });

  test('no drop-in whose name leads elsewhere', () => {
    const dropins = [{ name: '../../x.conf', contents: '[Unit]\n' }];
    expect(problemsOf({ config: units({ name: 'a.service', dropins }) })).toEqual([
      'MachineConfig 0: spec.config.systemd.units[0].dropins[0].name: a unit or drop-in name must be a plain file name; remove the slashes and what stands before them',
    ]);
  });

  test.each([
    '/etc/run/a',
    '/runner',
    '/etc/machine-config-daemon/policy-for-old-podman.json',
    '/etc/machine-config-daemon/generate_podman_policy_args.sh',
    '/etc/machine-config-daemon/no-reboot/containers-gpg.pub',
    '/etc/machine-config-daemon/currentconfig2',
    '/var/lib/slipway2',
    '/etc/a..b',
    '/usr/local/bin/a',
    '/home/core/.bashrc',
    '/root/.bashrc',
    '/etc/a b',
    '/etc/é%"*',
  ])('but one at %s', (path) => {
    expect(problemsOf(file({ path }))).toEqual([]);
  });

  const UNIT = 'MachineConfig 0: spec.config.systemd.units[0]';
  const contents = '[Service]\nExecStart=/bin/true\n';

  test.each([
    'a b.service',
    'é.service',
    'a%b.service',
    'a"b.service',
    'a\nb.service',
    '*.service',
    '.service',
    '@.service',
    '@a.service',
    'a.snapshot',
  ])('no unit by the name of %j, which systemd does not take', (name) => {
    for (const enabled of [true, false, undefined]) {
      expect(problemsOf({ config: units({ name, contents, enabled }) })).toEqual([
        `${UNIT}.name: systemd takes ${JSON.stringify(name)} for no name of a unit; use letters, digits and :-_.\\@ (systemd-escape writes others so), no @ at the start, and end with .service or another type`,
      ]);
    }
  });

  test.each([
    'a.service',
    'a@.service',
    'a@b.service',
    'a@b@c.service',
    'a@b.c.service',
    '.a.service',
    String.raw`var-lib-a\x2db.mount`,
    'a_b:c-1.D.timer',
    'dev-sda.device',
    'x.scope',
    `${'a'.repeat(237)}.service`,
  ])('but one by the name of %s', (name) => {
    const dropins = [{ name: 'a b"é.conf', contents }];
    expect(problemsOf({ config: units({ name, contents, dropins, enabled: true }) })).toEqual([]);
  });

  test('no name that is too long for the host', () => {
    const stamp =
      'hosts take at most 245, because they add .mcdnoorig to note what was there before; shorten it to 245 bytes';
    const plain = 'hosts take at most 255; shorten it to 255 bytes';
    const most = `/etc/${'é'.repeat(122)}x`;
    const deep = `/${'a/'.repeat(2025)}`;
    expect(problemsOf(file({ path: most }))).toEqual([]);
    expect(problemsOf(file({ path: `${most}x` }))).toEqual([
      `${FILE}.path: a name of 246 bytes is too long: ${stamp}`,
    ]);
    expect(problemsOf(file({ path: `/etc/${'a'.repeat(255)}/b` }))).toEqual([]);
    expect(problemsOf(file({ path: `/etc/${'a'.repeat(256)}/b` }))).toEqual([
      `${FILE}.path: a name of 256 bytes is too long: ${plain}`,
    ]);
    expect(problemsOf(file({ path: `${deep}a` }))).toEqual([]);
    expect(problemsOf(file({ path: `${deep}aa` }))).toEqual([
      `${FILE}.path: a path of 4053 bytes is too long: hosts take at most 4052; shorten it to 4052 bytes`,
    ]);
    const storage = {
      directories: [{ path: `/etc/${'a'.repeat(255)}` }, { path: `/etc/${'a'.repeat(256)}` }],
      links: [
        { path: `/etc/${'b'.repeat(255)}`, target: 'c' },
        { path: `/etc/${'b'.repeat(256)}`, target: 'c' },
      ],
    };
    expect(problemsOf({ config: ignition({ storage }) })).toEqual([
      `MachineConfig 0: spec.config.storage.directories[1].path: a name of 256 bytes is too long: ${plain}`,
      `MachineConfig 0: spec.config.storage.links[1].path: a name of 256 bytes is too long: ${plain}`,
    ]);
  });

  test.each([
    ['a.service', 'WantedBy=bad name/x', 'WantedBy= has a name that systemd takes for no unit'],
    ['a.service', 'WantedBy=x.target # at boot', 'WantedBy= has a name'],
    ['a.service', 'RequiredBy=x', 'RequiredBy= has a name'],
    ['a.service', 'Also=x', 'Also= has a name'],
    [
      'a.service',
      'Alias=b.timer',
      'Alias= has a name that this unit cannot have, of another type or instance, or',
    ],
    ['a.service', 'Alias=b@.service', 'Alias= has a name'],
    ['a@.service', 'Alias=b.service', 'Alias= has a name'],
    ['a.service', 'Alias=a.service\nWantedBy=x', 'WantedBy= has a name'],
    ['a.slice', 'Alias=b.slice\nWantedBy=x', 'WantedBy= has a name'],
    ['a@.service', 'WantedBy=x.target', 'WantedBy= has a unit that cannot want a template'],
    ['a@.service', 'RequiredBy=x.target', 'RequiredBy= has a unit that cannot want a template'],
    ['a@.service', 'DefaultInstance=x/y\nWantedBy=x.target', 'DefaultInstance= has what'],
    ['a@.service', 'DefaultInstance=x/y', 'DefaultInstance= has what'],
    ['a@.service', 'DefaultInstance=x y\nWantedBy=x.target', 'DefaultInstance= has what'],
    ['a@.service', 'DefaultInstance=%Q\nWantedBy=x.target', 'DefaultInstance= has what'],
    ['a@.service', 'DefaultInstance=%i\nWantedBy=x.target', 'WantedBy= has a unit that cannot'],
    ['a.service', 'WantedBy=%Q.target', 'WantedBy= has a name'],
    ['a.service', 'WantedBy=%%.target', 'WantedBy= has a name'],
    ['a.service', 'WantedBy=%H%T.target', 'WantedBy= has a name'],
    ['a.service', 'WantedBy=%i.target', 'WantedBy= has a name'],
    ['a.service', 'Also=%i.service', 'Also= has a name'],
    ['a.service', 'Alias=%T0.service', 'Alias= has a name'],
    ['a.service', 'Alias=%N@.service', 'Alias= has a name'],
    ['a.service', 'Alias=x/b.service', 'Alias= has a name'],
    ['a.service', 'Alias=x.target.wants/b.service', 'Alias= has a name'],
    ['a@x.service', 'Alias=b@y.service', 'Alias= has a name'],
  ])('no unit %s that is enabled with %s, which systemctl refuses', (name, line, problem) => {
    const unit = { name, contents: `${contents}[Install]\n${line}\n` };
    expect(problemsOf({ config: units({ ...unit, enabled: true }) })).toEqual([
      expect.stringMatching(
        RegExp(
          `units\\[0\\]\\.contents: systemctl does not enable the unit: ${problem}.*; correct the \\[Install\\] section, or do not enable the unit$`,
        ),
      ),
    ]);
    for (const says of [{}, { enabled: false }, { enabled: true, mask: true }]) {
      expect(problemsOf({ config: units({ ...unit, ...says }) })).toEqual([]);
    }
  });

  test.each([
    ['a.service', 'WantedBy=multi-user.target "b@c.service"\nAlias=c.service a.service'],
    ['a.service', 'WantedBy=dev-%p.device\nAlias=%N2.service\nAlso=b.timer'],
    ['a.service', 'WantedBy=x@.target\nDefaultInstance=x/y'],
    ['a@.service', 'WantedBy=x.target\nDefaultInstance=x'],
    ['a@.service', 'WantedBy=x@.target\nAlias=b@.service b@x.service'],
    ['a@.service', 'WantedBy=x@y.target'],
    ['a@.service', 'Alias=b@.service\nWantedBy=x.target'],
    ['a.service', 'WantedBy=x.target\nRequiredBy=y'],
    ['a.service', 'Alias=b.service\nWantedBy=y'],
    ['a@x.service', 'WantedBy=x.target'],
    ['a@x.service', 'Alias=b@.service c@x.service d@%i.service'],
    ['a@x.service', 'DefaultInstance=x/y\nWantedBy=%i.target'],
    ['a@.service', 'DefaultInstance=x\nWantedBy=%i.target %n'],
    ['a@.service', 'DefaultInstance=%H\nWantedBy=x.target %i.target'],
    ['a.service', 'Alias=x.target.wants/a.service'],
    ['a.service', 'WantedBy=%H.target %m.target'],
    ['a.slice', 'Alias=b.timer\nWantedBy=x.target'],
  ])('but %s that is enabled with %s', (name, line) => {
    const unit = { name, enabled: true, contents: `${contents}[Install]\n${line}\n` };
    expect(problemsOf({ config: units(unit) })).toEqual([]);
  });

  test('a drop-in of the same config may correct the [Install] section', () => {
    const dropins = [{ name: '1.conf', contents: '[Install]\nWantedBy=\nWantedBy=x.target\n' }];
    const unit = { name: 'a.service', enabled: true, dropins };
    const config = units({ ...unit, contents: `${contents}[Install]\nWantedBy=x\n` });
    expect(problemsOf({ config })).toEqual([]);
  });

  test('no drop-in with a zero byte in its name', () => {
    const dropins = [{ name: 'a\0.conf', contents }];
    expect(problemsOf({ config: units({ name: 'a.service', dropins }) })).toEqual([
      `${UNIT}.dropins[0].name: a unit or drop-in name must be a plain file name; remove the zero bytes`,
    ]);
  });

  test('no unit and no drop-in whose name is too long for the host', () => {
    const of = (bytes: number, suffix: string): string =>
      `${'a'.repeat(bytes - suffix.length)}${suffix}`;
    const name = (bytes: number): string => of(bytes, '.service');
    const dropin = (bytes: number): object => ({ name: of(bytes, '.conf'), contents });
    const tooLong = (unit: object): readonly string[] =>
      problemsOf({ config: units(unit) }).map((problem) => problem.split(':').slice(1, 4).join());
    expect(tooLong({ name: name(245), contents })).toEqual([]);
    expect(tooLong({ name: name(246), contents })).toEqual([
      ` spec.config.systemd.units[0].name, a name of 246 bytes is too long, hosts take at most 245, because they add .mcdnoorig to note what was there before; shorten it to 245 bytes`,
    ]);
    expect(tooLong({ name: name(246), mask: true })).toHaveLength(1);
    expect(tooLong({ name: name(255), enabled: true })).toEqual([]);
    expect(tooLong({ name: name(256), enabled: true })).toHaveLength(1);
    expect(tooLong({ name: name(253), dropins: [dropin(245)] })).toEqual([]);
    expect(tooLong({ name: name(254), dropins: [dropin(5)] })).toEqual([
      ` spec.config.systemd.units[0].name, a name of 254 bytes is too long, hosts take at most 253, because they add .d for the directory of its drop-ins; shorten it to 253 bytes`,
    ]);
    expect(tooLong({ name: 'a.service', dropins: [dropin(246)] })).toEqual([
      expect.stringContaining(' spec.config.systemd.units[0].dropins[0].name, a name of 246'),
    ]);
  });

  test.each(['files', 'directories', 'links'])('no owner of %s that no host can set', (list) => {
    const sourced = { contents: { source: 'data:,' } };
    const owned = (owner: object): MachineConfigSpec => {
      const more = list === 'links' ? { target: '/b' } : list === 'files' ? sourced : {};
      const storage = { [list]: [{ path: '/etc/a', ...more, ...owner }] };
      return { config: ignition({ storage }) };
    };
    const at = `MachineConfig 0: spec.config.storage.${list}[0]`;
    for (const id of [-5, -1, 4_294_967_295, 4_294_967_296]) {
      expect(problemsOf(owned({ user: { id }, group: { id } }))).toEqual([
        `${at}.user.id: no host can have a user with the ID ${id}; use a number from 0 to 4294967294, or leave it out for root`,
        `${at}.group.id: no host can have a group with the ID ${id}; use a number from 0 to 4294967294, or leave it out for root`,
      ]);
    }
    for (const name of ['a:b', 'a/b', 'a b', 'a\nb', 'a\0']) {
      expect(problemsOf(owned({ user: { name } }))).toEqual([
        `${at}.user.name: no user has a colon, slash, blank or control character in its name; write the name of a user that the hosts have`,
      ]);
    }
    for (const id of [0, 4_294_967_294]) expect(problemsOf(owned({ user: { id } }))).toEqual([]);
    expect(problemsOf(owned({ group: { name: 'systemd-journal' } }))).toEqual([]);
  });

  test.each(['', 'a b', 'a:b', 'a/b', 'a\nb', '-r', '1000', '.', '..'])(
    'no account of the name %j, which Ignition cannot make',
    (name) => {
      const fix = 'use letters, digits, - and _, not only digits, and no - at the start';
      const problem = (what: string): string =>
        `no host can have a ${what} of the name ${JSON.stringify(name)}; ${fix}`;
      const at = 'MachineConfig 0: spec.config.passwd';
      const passwd = {
        users: [
          { name: 'core', sshAuthorizedKeys: ['ssh-ed25519 A'] },
          { name, primaryGroup: 'wheel', groups: ['wheel'] },
          { name: 'ada', primaryGroup: name, groups: ['wheel', name] },
        ],
        groups: [{ name }],
      };
      const problems = [
        `${at}.users[1].name: ${problem('user')}`,
        `${at}.users[2].primaryGroup: ${problem('group')}`,
        `${at}.users[2].groups[1]: ${problem('group')}`,
        `${at}.groups[0].name: ${problem('group')}`,
      ];
      // IDs may name existing groups, and a user needs no group of its own.
      const isAsked = (at: number): boolean =>
        at === 1 ? !['', '1000'].includes(name) : at !== 2 || name !== '1000';
      expect(problemsOf({ config: ignition({ passwd }) })).toEqual(
        problems.filter((_, at) => isAsked(at)),
      );
    },
  );

  test('accounts of all names that hosts have', () => {
    const users = ['core', 'systemd-journal', '_apt', 'Ada.Lovelace', 'host$', 'é'].map((name) => ({
      name,
    }));
    expect(problemsOf({ config: ignition({ passwd: { users, groups: users } }) })).toEqual([]);
  });

  const problemsOfAccounts = (passwd: object): readonly string[] =>
    problemsOf({ config: ignition({ passwd }) });

  test.each([
    ['gecos', ['a:b', 'a\nb', 'a\0'], ['', 'Ada, room 1', 'a\tb']],
    ['homeDir', ['home/ada', '~', '/home/a:b', '/home/a\n'], ['', '/', '/var/home/a b']],
    ['shell', ['bash', '/bin/a:b', '/bin/a\n'], ['', '/bin/bash', '/no/such', '*']],
  ])('no user with a %s that useradd refuses', (key, bad, good) => {
    for (const value of bad) {
      for (const name of ['core', 'ada']) {
        expect(problemsOfAccounts({ users: [{ name, [key]: value }] })).toEqual([
          expect.stringContaining(
            `MachineConfig 0: spec.config.passwd.users[0].${key}: Ignition cannot make the user: it `,
          ),
        ]);
      }
      const gone = { name: 'ada', [key]: value, shouldExist: false };
      expect(problemsOfAccounts({ users: [gone] })).toEqual([]);
    }
    for (const value of good) {
      expect(problemsOfAccounts({ users: [{ name: 'ada', [key]: value }] })).toEqual([]);
    }
  });

  test('no account with an ID that no host can give it', () => {
    const withIds = (id: number, name = 'ada'): readonly string[] =>
      problemsOfAccounts({ users: [{ name, uid: id }], groups: [{ name, gid: id }] });
    const at = 'MachineConfig 0: spec.config.passwd';
    for (const id of [-1, 4_294_967_295]) {
      const fix = 'use a number from 1 to 4294967294, or leave it out';
      expect(withIds(id)).toEqual([
        `${at}.users[0].uid: no host can have a user with the ID ${id}; ${fix}`,
        `${at}.groups[0].gid: no host can have a group with the ID ${id}; ${fix}`,
      ]);
    }
    expect(withIds(0)).toEqual([
      `${at}.users[0].uid: the user root has the ID 0 on every host; choose another, or leave it out`,
      `${at}.groups[0].gid: the group root has the ID 0 on every host; choose another, or leave it out`,
    ]);
    expect(withIds(0, 'root')).toEqual([]);
    for (const id of [1, 1000, 4_294_967_294]) expect(withIds(id)).toEqual([]);
  });

  test('no account whose name is too long for any host', () => {
    const named = (bytes: number): readonly string[] => {
      const accounts = [{ name: 'a'.repeat(bytes) }];
      return problemsOfAccounts({ users: accounts, groups: accounts });
    };
    const at = 'MachineConfig 0: spec.config.passwd';
    const group = (bytes: number): string =>
      `${at}.groups[0].name: a name of ${bytes} bytes is too long: no host takes more than 32 for a group; shorten it to 32 bytes`;
    expect(named(32)).toEqual([]);
    expect(named(255)).toEqual([group(255)]);
    expect(named(256)).toEqual([
      `${at}.users[0].name: a name of 256 bytes is too long: no host takes more than 255 for a user; shorten it to 255 bytes`,
      group(256),
    ]);
  });

  test('no hard link to a place that is not absolute', () => {
    const link = (more: object): readonly string[] =>
      problemsOf({ config: ignition({ storage: { links: [{ path: '/etc/h', ...more }] } }) });
    expect(link({ target: 't', hard: true })).toEqual([
      'MachineConfig 0: spec.config.storage.links[0].target: the target of a hard link must be absolute; write the whole path of the target, beginning with a slash',
    ]);
    expect(link({ target: '/etc/t', hard: true })).toEqual([]);
    expect(link({ target: 't' })).toEqual([]);
  });

  test('values of a wrong type, which the API server would refuse', () => {
    const wrong = {
      kernelArguments: 'a',
      fips: 'yes',
      extensions: [5],
    } as unknown as MachineConfigSpec;
    expect(problemsOf(wrong).map((problem) => problem.split(':')[1])).toEqual([
      ' spec.kernelArguments',
      ' spec.extensions[0]',
      ' spec.fips',
    ]);
  });
});

describe('refusing', () => {
  test('names all problems at once and shows no contents', () => {
    const secret = 'data:;base64,c2VjcmV0';
    const bad = { config: files({ path: 'a', contents: { source: secret } }), kernelType: 'rt' };
    expect.assertions(4);
    try {
      refuseInadmissible([machineConfig('bad', bad)], nodePorts);
    } catch (error) {
      expect(failureName(error)).toBe('InvalidMachineConfig');
      expect(messageOf(error).split('\n')).toHaveLength(2);
      expect(messageOf(error)).toContain('MachineConfig bad: spec.config.storage.files[0].path');
      expect(messageOf(error)).not.toContain('c2VjcmV0');
    }
  });

  test('nothing for a sound pool', () => {
    expect(() => {
      refuseInadmissible([machineConfig('a', { config: ignition() })], nodePorts);
    }).not.toThrow();
  });
});
