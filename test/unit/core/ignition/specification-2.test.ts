import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parseAndConvert, parseIgnition, readRawIgnition } from '../../../../core/ignition';
import { nodePorts } from '../../../conformance/render-ports';

interface Observed {
  readonly config: string;
  readonly error: string | null;
}

const FILE = join(__dirname, '../../../fixtures/render/ignition-2.json');
const { cases } = JSON.parse(readFileSync(FILE, 'utf8')) as { cases: readonly Observed[] };

const parse = (config: unknown): unknown => {
  const raw = readRawIgnition(config, nodePorts);
  if (raw === undefined) throw new Error('no config');
  return parseIgnition(raw);
};

describe('what the parser was observed to answer', () => {
  test.each(cases.map((observed, i) => [i, observed] as const))('case %i', (_, observed) => {
    if (observed.error === null) expect(() => parse(observed.config)).not.toThrow();
    else expect(() => parse(observed.config)).toThrow(new Error(observed.error));
  });
});

const v2 = (sections: object, version = '2.2.0'): object => ({
  ignition: { version },
  ...sections,
});
const convert = (config: object): unknown => parseAndConvert(readRawIgnition(config, nodePorts));
const root = (path: string, more: object = {}): object => ({ filesystem: 'root', path, ...more });

describe('translation to 3.5', () => {
  test('files overwrite, and the last of a path wins; order is reversed', () => {
    const files = [
      root('/etc/a', { mode: 420, contents: { source: 'data:,1' } }),
      root('/etc/b', { mode: 420, overwrite: false, contents: { source: 'data:,2' } }),
      root('/etc/a', { mode: 384, contents: { source: 'data:,3' } }),
    ];
    expect(convert(v2({ storage: { files } }))).toEqual({
      ignition: { version: '3.5.0' },
      storage: {
        files: [
          { overwrite: true, path: '/etc/a', contents: { source: 'data:,3' }, mode: 384 },
          { overwrite: false, path: '/etc/b', contents: { source: 'data:,2' }, mode: 420 },
        ],
      },
    });
  });

  test('a file without contents is an empty file', () => {
    expect(convert(v2({ storage: { files: [root('/etc/a', { mode: 420 })] } }))).toMatchObject({
      storage: { files: [{ path: '/etc/a', contents: { source: '' } }] },
    });
  });

  test('a file that appends does not overwrite', () => {
    const file = root('/etc/a', { append: true, mode: 420, contents: { source: 'data:,1' } });
    expect(convert(v2({ storage: { files: [file] } }))).toMatchObject({
      storage: { files: [{ overwrite: false, append: [{ source: 'data:,1' }] }] },
    });
  });

  test('units of one name become one with the drop-ins of all', () => {
    const dropin = (name: string, contents: string): object => ({ name, contents });
    const units = [
      {
        name: 'a.service',
        contents: '[A]\nb=1\n',
        dropins: [dropin('x.conf', '1'), dropin('y.conf', '1')],
      },
      { name: 'b.service', enable: true },
      {
        name: 'a.service',
        contents: '[A]\nb=2\n',
        enabled: false,
        dropins: [dropin('x.conf', '2')],
      },
    ].map(
      (unit) =>
        JSON.parse(
          JSON.stringify(unit).replaceAll('"1"', '"[X]\\n"').replaceAll('"2"', '"[Y]\\n"'),
        ) as object,
    );
    expect(convert(v2({ systemd: { units } }))).toMatchObject({
      systemd: {
        units: [
          {
            name: 'a.service',
            contents: '[A]\nb=2\n',
            enabled: false,
            dropins: [
              { name: 'x.conf', contents: '[Y]\n' },
              { name: 'y.conf', contents: '[X]\n' },
            ],
          },
          { name: 'b.service', enabled: true },
        ],
      },
    });
  });

  test('core collects all keys, the newest first', () => {
    const users = [
      { name: 'core', sshAuthorizedKeys: ['a', 'b'] },
      { name: 'core', sshAuthorizedKeys: ['b', 'c'] },
    ];
    expect(convert(v2({ passwd: { users } }))).toMatchObject({
      passwd: { users: [{ name: 'core', sshAuthorizedKeys: ['b', 'c', 'a'] }] },
    });
  });

  test('modes and owners that older versions leave out are 0', () => {
    const files = [root('/etc/a', { contents: { source: 'data:,' } })];
    expect(convert(v2({ storage: { files } }, '2.1.0'))).toMatchObject({
      storage: { files: [{ mode: 0 }] },
    });
    expect(convert(v2({ storage: { files } }, '2.0.0'))).toMatchObject({
      storage: { files: [{ mode: 0, user: { id: 0 }, group: { id: 0 } }] },
    });
  });

  const INTO_V3 =
    'failed to convert Ignition config spec v2 to v3: unable to convert Ignition spec v2 config to v3: ';
  test.each([
    [
      'another user',
      { passwd: { users: [{ name: 'bob' }] } },
      'unexpected user with name: bob. Only core user is supported',
    ],
    [
      'networkd',
      { networkd: { units: [{ name: 'a.network' }] } },
      `${INTO_V3}config includes deprecated networkd section`,
    ],
    [
      'another filesystem',
      { storage: { filesystems: [{ name: 'data', path: '/data' }] } },
      `${INTO_V3}Config defined filesystem "data"`,
    ],
    [
      'a link and a file',
      {
        storage: {
          files: [root('/etc/a', { mode: 420 })],
          links: [root('/etc/a', { target: '/b' })],
        },
      },
      `${INTO_V3}Config has conflicting inodes: "File: /etc/a" and "Link: /etc/a"`,
    ],
    [
      'partitions',
      { storage: { disks: [{ device: '/dev/sda', partitions: [{ number: 1 }] }] } },
      `${INTO_V3}Invalid input config:\ndeprecated: size is deprecated`,
    ],
    [
      'a path that specification 3 refuses',
      {
        storage: {
          files: [root('/etc//a', { mode: 420 }), root('/etc/../a', { mode: 420 })],
          directories: [root('/etc/d', { mode: 420 }), root('/etc/d', { mode: 420 })],
        },
      },
      `${INTO_V3}Config has conflicting inodes`,
    ],
  ])('%s cannot be translated', (_, sections, words) => {
    expect(() => convert(v2(sections))).toThrow(words);
  });
});
