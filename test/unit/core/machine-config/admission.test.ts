import { failureName, messageOf } from '../../../../core/errors';
import {
  admissionProblems,
  describeProblem,
  refuseInadmissible,
  type MachineConfigSpec,
} from '../../../../core/machine-config';
import { nodePorts } from '../../../conformance/ports';
import { files, ignition, machineConfig, units } from './builders';

const problemsOf = (...specs: readonly MachineConfigSpec[]): readonly string[] =>
  admissionProblems(
    specs.map((spec, i) => machineConfig(`${i}`, spec)),
    nodePorts,
  ).map(describeProblem);

const file = (more: object): MachineConfigSpec => ({
  config: files({ path: '/etc/a', contents: { source: 'data:,1' }, ...more }),
});
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
      'all other fields',
      {
        kernelType: '64k-pages',
        kernelArguments: ['a=1 b'],
        extensions: ['usbguard'],
        fips: true,
        osImageURL: 'registry.example/os@sha256:1',
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
      'appending',
      file({ append: [{ source: 'data:,1' }] }),
      `${FILE}.append: appending cannot be repeated safely on a running host; write the whole contents into contents.source`,
    ],
    [
      'no contents',
      { config: files({ path: '/etc/a' }) },
      `${FILE}.contents.source: no MachineConfig of the pool gives /etc/a contents; add contents: {source: "data:,"} for an empty file`,
    ],
    [
      'a unit that says nothing',
      { config: units({ name: 'a.service' }) },
      'MachineConfig 0: spec.config.systemd.units[0]: the unit has no effect; add contents, dropins, enabled or mask',
    ],
    [
      'an empty drop-in',
      { config: units({ name: 'a.service', dropins: [{ name: 'b.conf' }] }) },
      'MachineConfig 0: spec.config.systemd.units[0].dropins[0]: the drop-in has no contents; add contents',
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
      'an empty kernel argument',
      { kernelArguments: ['a', ' '] },
      'MachineConfig 0: spec.kernelArguments[1]: not a text on one line; write a text, quoted when it looks like a number',
    ],
    [
      'an image with a space',
      { osImageURL: 'a b' },
      'MachineConfig 0: spec.osImageURL: not the name of an image; write registry/name@sha256:<digest>',
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
    '/boot/a',
    '/var/lib/slipway/a',
  ])('no file at %s', (path) => {
    expect(problemsOf(file({ path }))).toEqual([
      expect.stringContaining(`${FILE}.path: no file may be at ${path}: `),
    ]);
  });

  test.each(['/etc/run/a', '/runner', '/var/lib/slipway2'])('but one at %s', (path) => {
    expect(problemsOf(file({ path }))).toEqual([]);
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
