import { createHash } from 'node:crypto';
import { renderPool } from '../../../controllers/render/render-pool';
import type { MachineConfig } from '../../../core/machine-config';
import { LABEL } from '../../../core/names';
import type { MachineConfigPool } from '../../../core/pool/types';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const labels = { [LABEL.ROLE]: 'worker' };

function aConfig(name: string, sections: object): MachineConfig {
  return { metadata: { name, labels }, spec: { config: withSections(sections) } };
}

function withSections(sections: object): object {
  return { ignition: { version: '3.5.0' }, ...sections };
}

const file = (path: string): object => ({ files: [{ path, contents: { source: 'data:,x' } }] });
const link = { links: [{ path: '/etc/foo', target: '/opt' }] };
const unit = { units: [{ name: 'x.service', contents: '[Unit]\n' }] };
const dropin = { units: [{ name: 'x.service', dropins: [{ name: 'a.conf', contents: '[A]\n' }] }] };

function render(sources: readonly MachineConfig[], current?: MachineConfig): string | undefined {
  const pool: MachineConfigPool = {
    metadata: { name: 'worker' },
    spec: {
      machineConfigSelector: { matchLabels: labels },
      ...(current === undefined ? {} : { configuration: { name: current.metadata.name } }),
    },
  };
  const view = {
    machineConfigs: { list: () => sources, get: () => current },
    controllerConfigs: { get: () => undefined },
    osImageStreams: { get: () => undefined },
    workerStream: '',
  };
  return renderPool(view, pool, '0.0.0-test')?.rendered.name;
}

describe('MachineConfigs that are fine alone and not together', () => {
  it.each<[string, object, object, string]>([
    [
      'a file below a link',
      { storage: file('/etc/foo/bar') },
      { storage: link },
      'MachineConfig 60-a: spec.config.storage.files[0]: file path includes link in config: /etc/foo/bar, merged with /etc/foo in MachineConfig 61-b; keep one of them, or choose another path',
    ],
    [
      'a file in the place of a unit',
      { storage: file('/etc/systemd/system/x.service') },
      { systemd: unit },
      'MachineConfig 60-a: spec.config.storage.files[0].path: path conflicts with systemd unit or dropin: /etc/systemd/system/x.service, merged with /etc/systemd/system/x.service in MachineConfig 61-b; keep one of them, or choose another path',
    ],
    [
      'a file below a file',
      { storage: file('/etc/foo/bar') },
      { storage: file('/etc/foo') },
      'MachineConfig 60-a: spec.config.storage.files[0]: /etc/foo/bar cannot be below /etc/foo, which is a file of MachineConfig 61-b; choose another path for one of them',
    ],
    [
      'a drop-in below a file',
      { systemd: dropin },
      { storage: file('/etc/systemd/system/x.service.d') },
      'MachineConfig 60-a: spec.config.systemd.units[0].dropins[0]: /etc/systemd/system/x.service.d/a.conf cannot be below /etc/systemd/system/x.service.d, which is a file of MachineConfig 61-b; choose another path for one of them',
    ],
  ])('%s are refused, both named', (_, a, b, message) => {
    const [one, other] = [aConfig('60-a', a), aConfig('61-b', b)];

    expect(render([one])).toMatch(/^rendered-worker-/);
    expect(render([other])).toMatch(/^rendered-worker-/);
    expect(() => render([one, other])).toThrow(expect.objectContaining({ message }) as Error);
    expect(() => render([one, other], one)).toThrow(expect.objectContaining({ message }) as Error);
  });

  it('may not leave the hash of one to the contents of another', () => {
    const of = (text: string, hash?: string): object => ({
      storage: {
        files: [
          {
            path: '/etc/a',
            contents: {
              source: `data:,${text}`,
              ...(hash === undefined ? {} : { verification: { hash: `sha256-${hash}` } }),
            },
          },
        ],
      },
    });
    const first = aConfig('60-a', of('one', sha256('one')));

    expect(() => render([first, aConfig('61-b', of('two'))])).toThrow(
      'MachineConfig 61-b: spec.config.storage.files[0].contents.verification.hash: /etc/a keeps the hash that MachineConfig 60-a gives it, which is not of these contents; give it the hash of its own contents',
    );
    expect(render([first, aConfig('61-b', of('two', sha256('two')))])).toMatch(/^rendered-/);
  });

  it.each<[string, object, object, string]>([
    [
      'a unit that another one enables',
      { contents: '[Install]\nWantedBy=nothing\n' },
      { enabled: true },
      'MachineConfig 60-a: spec.config.systemd.units[0].contents: systemctl does not enable the unit of MachineConfigs 60-a, 61-b: WantedBy= has a name that systemd takes for no unit',
    ],
    [
      'an enabled unit with a drop-in of another one',
      { contents: '[Install]\nWantedBy=a.target\n', enabled: true },
      { dropins: [{ name: '1.conf', contents: '[Install]\nAlias=x.socket\n' }] },
      'MachineConfig 61-b: spec.config.systemd.units[0].dropins[0].contents: systemctl does not enable the unit of MachineConfigs 60-a, 61-b: Alias= has a name that this unit cannot have, of another type or instance, or only one of the two with an @',
    ],
    [
      'drop-ins of both, which count in the order of their names',
      {
        contents: '[Install]\nWantedBy=a.target\n',
        enabled: true,
        dropins: [{ name: '2.conf', contents: '[Install]\nWantedBy=\nWantedBy=b.target\n' }],
      },
      { dropins: [{ name: '3.conf', contents: '[Install]\nWantedBy=nothing\n' }] },
      'MachineConfig 61-b: spec.config.systemd.units[0].dropins[0].contents: systemctl does not enable the unit of MachineConfigs 60-a, 61-b: WantedBy= has a name that systemd takes for no unit',
    ],
  ])('%s are refused when systemctl would not enable the whole', (_, a, b, message) => {
    const of = (unit: object): object => ({ systemd: { units: [{ name: 'x.service', ...unit }] } });
    const [one, other] = [aConfig('60-a', of(a)), aConfig('61-b', of(b))];
    const fix = 'correct the [Install] section, or do not enable the unit';

    expect(render([one])).toMatch(/^rendered-worker-/);
    expect(render([other])).toMatch(/^rendered-worker-/);
    expect(() => render([one, other])).toThrow(
      expect.objectContaining({ message: `${message}; ${fix}` }) as Error,
    );
  });

  it('may correct the [Install] section of one another', () => {
    const of = (unit: object): object => ({ systemd: { units: [{ name: 'x.service', ...unit }] } });
    const bad = aConfig('60-a', of({ contents: '[Install]\nWantedBy=nothing\n' }));
    const reset = { name: '1.conf', contents: '[Install]\nWantedBy=\nWantedBy=a.target\n' };
    const late = { name: '0.conf', contents: '[Install]\nWantedBy=nothing\n' };

    for (const dropins of [[reset], [reset, late]]) {
      const good = aConfig('61-b', of({ enabled: true, dropins }));
      expect(render([bad, good])).toMatch(/^rendered-worker-/);
    }
    expect(render([bad, aConfig('61-b', of({ enabled: true, mask: true }))])).toMatch(/^rendered-/);
  });

  const enabled = (name: string, install: string): object => ({
    name,
    enabled: true,
    contents: `[Install]\n${install}\n`,
  });
  const ofUnits = (...list: readonly object[]): object => ({ systemd: { units: list } });
  const alias = ofUnits(enabled('a.service', 'WantedBy=x.target\nAlias=b.service'));
  const wants = ofUnits(enabled('a.service', 'WantedBy=x.target'));
  const SYSTEMD = '/etc/systemd/system';
  const aLink = (path: string, target: string): object => ({
    storage: { links: [{ path: `${SYSTEMD}/${path}`, target }] },
  });
  const aDirectory = (path: string): object => ({
    storage: { directories: [{ path: `${SYSTEMD}/${path}` }] },
  });

  it.each<[string, object, object, string]>([
    [
      'a unit in the place of an alias',
      alias,
      ofUnits({ name: 'b.service', contents: '[Unit]\n' }),
      'Alias= is at /etc/systemd/system/b.service, which is a unit of MachineConfig 61-b',
    ],
    [
      'a masked one',
      alias,
      ofUnits({ name: 'b.service', mask: true }),
      'Alias= is at /etc/systemd/system/b.service, which MachineConfig 61-b masks',
    ],
    [
      'a file in the place of an alias',
      alias,
      { storage: file(`${SYSTEMD}/b.service`) },
      'Alias= is at /etc/systemd/system/b.service, which is a file of MachineConfig 61-b',
    ],
    [
      'a link to something else there',
      alias,
      aLink('b.service', '/dev/null'),
      'Alias= is at /etc/systemd/system/b.service, which is a link of MachineConfig 61-b',
    ],
    [
      'a directory there',
      alias,
      aDirectory('b.service'),
      'Alias= is at /etc/systemd/system/b.service, which is a directory of MachineConfig 61-b',
    ],
    [
      'a file in the place of a directory of links',
      wants,
      { storage: file(`${SYSTEMD}/x.target.wants`) },
      'WantedBy= needs a directory at /etc/systemd/system/x.target.wants, which is a file of MachineConfig 61-b',
    ],
    [
      'a file in the place of such a link',
      ofUnits(enabled('a@.service', 'RequiredBy=x.target\nDefaultInstance=i')),
      { storage: file(`${SYSTEMD}/x.target.requires/a@i.service`) },
      'RequiredBy= needs a link at /etc/systemd/system/x.target.requires/a@i.service, which is a file of MachineConfig 61-b',
    ],
  ])('%s is refused, as systemctl refuses to enable the unit', (_, a, b, problem) => {
    const [one, other] = [aConfig('60-a', a), aConfig('61-b', b)];

    expect(render([one])).toMatch(/^rendered-worker-/);
    expect(render([other])).toMatch(/^rendered-worker-/);
    expect(() => render([one, other])).toThrow(
      expect.objectContaining({
        message: `MachineConfig 60-a: spec.config.systemd.units[0].contents: systemctl does not enable the unit: ${problem}; correct the [Install] section, or do not enable the unit`,
      }) as Error,
    );
  });

  it('may not enable two units with one alias', () => {
    const other = ofUnits(enabled('c@i.service', 'Alias=b@.service'));
    const one = ofUnits(enabled('a@i.service', 'Alias=b@i.service'));

    expect(() => render([aConfig('60-a', one), aConfig('61-b', other)])).toThrow(
      'MachineConfig 61-b: spec.config.systemd.units[0].contents: systemctl does not enable the unit: Alias= is also an alias of a@i.service, a unit of MachineConfig 60-a; ',
    );
  });

  it.each<[string, object, object]>([
    [
      'a unit of the image with the name of an alias',
      alias,
      ofUnits({ name: 'b.service', enabled: true }),
    ],
    [
      'drop-ins for it',
      alias,
      ofUnits({ name: 'b.service', dropins: [{ name: '1.conf', contents: '[Unit]\n' }] }),
    ],
    ['the alias as a link', alias, aLink('b.service', 'a.service')],
    [
      'a mask that goes with the template when that is disabled before',
      ofUnits(enabled('a@.service', 'Alias=a@i.service')),
      ofUnits({ name: 'a@i.service', mask: true }),
    ],
    [
      'a link that goes with the unit that it leads to',
      alias,
      {
        ...aLink('b.service', '/usr/lib/systemd/system/c.service'),
        ...ofUnits({ name: 'c.service', enabled: false }),
      },
    ],
    [
      'another link in the place of an alias that wants',
      ofUnits(enabled('a.service', 'Alias=x.target.wants/a.service')),
      aLink('x.target.wants/a.service', 'a@.service'),
    ],
    [
      'another link in the place of one that wants',
      wants,
      aLink('x.target.wants/a.service', '/opt/a.service'),
    ],
    ['the directory of such links', wants, aDirectory('x.target.wants')],
    [
      'a file where it does not count beside an alias',
      alias,
      { storage: file(`${SYSTEMD}/x.target.wants`) },
    ],
    [
      'the alias of a unit that is not enabled',
      alias,
      ofUnits({ ...enabled('c.service', 'Alias=b.service'), enabled: false }),
    ],
    ['two that want one unit', wants, ofUnits(enabled('c.service', 'WantedBy=x.target'))],
  ])('may have %s', (_, a, b) => {
    expect(render([aConfig('60-a', a), aConfig('61-b', b)])).toMatch(/^rendered-worker-/);
  });

  it.each([
    ['users', 'user', 'uid'],
    ['groups', 'group', 'gid'],
  ])('may not give two %s one ID', (list, kind, key) => {
    const of = (name: string, more: object): object => ({
      passwd: { [list]: [{ name, ...more }] },
    });
    const ada = aConfig('60-a', of('ada', { [key]: 1500 }));

    expect(() => render([ada, aConfig('61-b', of('bob', { [key]: 1500 }))])).toThrow(
      `MachineConfig 61-b: spec.config.passwd.${list}[0].${key}: the ${kind} ada of MachineConfig 60-a has the ID 1500, too; give one of them another`,
    );
    const fine = [
      of('bob', { [key]: 1501 }),
      of('bob', {}),
      of('bob', { [key]: 1500, shouldExist: false }),
      of('ada', { [key]: 1500 }),
    ];
    for (const other of fine) {
      expect(render([ada, aConfig('61-b', other)])).toMatch(/^rendered-worker-/);
    }
  });

  const withArguments = (name: string, ...kernelArguments: readonly string[]): MachineConfig => ({
    metadata: { name, labels },
    spec: { kernelArguments },
  });
  const leftOpen =
    'a double quote is left open, and the kernel takes the next entry for a part of it; close it in the same entry, or write one entry for both';

  it('may not leave a quote open that swallows kernel arguments of the other', () => {
    const open = withArguments('60-a', 'a=1', 'dyndbg="file a.c +p');
    const other = withArguments('61-b', 'b="1 2"', 'c');

    expect(render([open])).toMatch(/^rendered-worker-/);
    expect(() => render([open, other])).toThrow(
      expect.objectContaining({
        message: `MachineConfig 60-a: spec.kernelArguments[1]: ${leftOpen}`,
      }) as Error,
    );
    expect(() => render([withArguments('60-a', 'a="1', '2"', 'b')])).toThrow(
      `MachineConfig 60-a: spec.kernelArguments[0]: ${leftOpen}`,
    );
    expect(() => render([withArguments('60-a', '"a', '"b', 'c"')])).toThrow(
      `MachineConfig 60-a: spec.kernelArguments[0]: ${leftOpen}`,
    );
  });

  it.each([
    [['dyndbg="file a.c +p; file b.c +p"', 'a']],
    [['a="1"2"3 4"5', 'b="" c', '"d=1 2"', "e='1"]],
    [['a', 'b="1 2']],
    [['a=\\"1 2"', 'b']],
  ])('may have the kernel arguments %j', (kernelArguments) => {
    expect(render([withArguments('60-a', ...kernelArguments)])).toMatch(/^rendered-worker-/);
  });

  it('are told by their names when several make up one entry', () => {
    const owned = (owner: object): object => ({
      storage: { files: [{ path: '/etc/a', user: owner, contents: { source: 'data:,' } }] },
    });

    expect(() =>
      render([aConfig('60-a', owned({ id: 1 })), aConfig('61-b', owned({ name: 'u' }))]),
    ).toThrow(
      'MachineConfig 61-b: spec.config.storage.files[0].user: cannot set both id and name: /etc/a, merged with /etc/a in MachineConfig 60-a; ',
    );
  });

  it('may replace one another', () => {
    const below = { storage: { directories: [{ path: '/etc/foo' }], ...file('/etc/foo/bar') } };

    expect(
      render([aConfig('60-a', { storage: file('/etc/foo') }), aConfig('61-b', below)]),
    ).toMatch(/^rendered-worker-/);
  });
});

it('refuses a file below a file of the same MachineConfig', () => {
  const both = [file('/etc/foo'), file('/etc/foo/bar')] as { files: object[] }[];
  const storage = { files: both.flatMap(({ files }) => files) };

  expect(() => render([aConfig('60-a', { storage })])).toThrow(
    'MachineConfig 60-a: spec.config.storage.files[1]: /etc/foo/bar cannot be below /etc/foo, which is a file of MachineConfig 60-a',
  );
});

it('renders fixed MachineConfigs although the config that the pool is on does not validate', () => {
  const stuck = aConfig('rendered-worker-stuck', {
    storage: { ...file('/etc/foo/bar'), ...link },
  });
  const mended = aConfig('60-a', { storage: file('/etc/foo/bar') });

  expect(render([mended], stuck)).toBe(render([mended]));
});

it('still compares with a config that validates', () => {
  const before = aConfig('rendered-worker-before', { storage: file('/etc/a') });
  const directory = { storage: { directories: [{ path: '/etc/new' }] } };

  expect(() => render([aConfig('60-a', directory)], before)).toThrow(
    'ignition directories section contains changes',
  );
});
