import { gzipSync } from 'node:zlib';
import type { IgnitionFile, IgnitionUnit } from '../../../../core/machine-config/types';
import { SSH_KEYS_FILE } from '../../../../host/paths/ssh-keys';
import { passwordHash, wantedPaths } from '../../../../host/paths/wanted-paths';
import { aConfig } from '../a-host';

const ofFiles = (...files: IgnitionFile[]) =>
  wantedPaths(aConfig('a', { config: { storage: { files } } }).spec);
const ofUnits = (...units: IgnitionUnit[]) =>
  wantedPaths(aConfig('a', { config: { systemd: { units } } }).spec);
const base64 = (bytes: Buffer) => `data:;base64,${bytes.toString('base64')}`;

function textAt(wanted: ReturnType<typeof wantedPaths>, path: string): string | undefined {
  const found = wanted.get(path);
  return found?.kind === 'file' ? found.content?.toString() : undefined;
}

describe('the files that a config wants', () => {
  it.each([
    ['plain text', { source: 'data:,a%20b' }, 'a b'],
    ['a media type', { source: 'data:text/plain;charset=utf-8,a' }, 'a'],
    ['base 64', { source: base64(Buffer.from('a b')) }, 'a b'],
    ['nothing', { source: 'data:,' }, ''],
    ['no source', {}, ''],
    ['gzip', { source: base64(gzipSync('packed')), compression: 'gzip' }, 'packed'],
    ['an empty compression', { source: 'data:,a', compression: '' }, 'a'],
  ])('are decoded from %s', (_what, contents, text) => {
    expect(textAt(ofFiles({ path: '/etc/a', contents }), '/etc/a')).toBe(text);
  });

  it('have mode 0644 unless they say another', () => {
    const wanted = ofFiles({ path: '/etc/a' }, { path: '/etc/b', mode: 0o600 });

    expect(wanted.get('/etc/a')).toMatchObject({ mode: 0o644 });
    expect(wanted.get('/etc/b')).toMatchObject({ mode: 0o600 });
  });

  it('are the later ones when a path comes twice', () => {
    const source = (text: string) => ({ source: `data:,${text}` });
    const wanted = ofFiles(
      { path: '/etc/a', contents: source('one') },
      { path: '/etc/a', contents: source('two') },
    );

    expect(textAt(wanted, '/etc/a')).toBe('two');
  });

  it.each<[string, IgnitionFile, RegExp]>([
    [
      'a remote source',
      { path: '/etc/a', contents: { source: 'http://x/y' } },
      /\/etc\/a.*data URL/,
    ],
    [
      'broken base 64',
      { path: '/etc/a', contents: { source: 'data:;base64,?' } },
      /\/etc\/a.*data URL/,
    ],
    [
      'contents that are not gzip',
      { path: '/etc/a', contents: { source: 'data:,plain', compression: 'gzip' } },
      /\/etc\/a: contents are not gzip/,
    ],
    [
      'another compression',
      { path: '/etc/a', contents: { source: 'data:,a', compression: 'xz' } },
      /compression must be empty or gzip/,
    ],
    [
      'a remote source to append',
      { path: '/etc/a', append: [{ source: 'http://x/y' }] },
      /\/etc\/a.*data URL/,
    ],
    ['a relative path', { path: 'etc/a' }, /not absolute and normalised/],
    ['a path with dots', { path: '/etc/../opt/a' }, /not absolute and normalised/],
  ])('are refused with %s', (_what, file, message) => {
    expect(() => ofFiles(file)).toThrow(message);
  });

  it('never put contents into the refusal', () => {
    const file = { path: '/etc/a', contents: { source: 'data:,secret', compression: 'gzip' } };

    expect(() => ofFiles(file)).toThrow(expect.not.stringContaining('secret') as string);
  });
});

describe('the units that a config wants', () => {
  it('are files, drop-ins and masks', () => {
    const wanted = ofUnits(
      { name: 'a.service', contents: '[Unit]\n', dropins: [{ name: 'b.conf', contents: 'x' }] },
      { name: 'm.service', mask: true, contents: 'ignored' },
    );

    expect(textAt(wanted, '/etc/systemd/system/a.service')).toBe('[Unit]\n');
    expect(textAt(wanted, '/etc/systemd/system/a.service.d/b.conf')).toBe('x');
    expect(wanted.get('/etc/systemd/system/m.service')).toMatchObject({ target: '/dev/null' });
  });

  it('want an empty drop-in gone, and a mask when it is taken away', () => {
    const wanted = ofUnits(
      { name: 'a.service', dropins: [{ name: 'b.conf', contents: '' }] },
      { name: 'm.service', mask: false },
      { name: 'n.service', enabled: true },
    );

    expect(wanted.get('/etc/systemd/system/a.service.d/b.conf')).toMatchObject({ kind: 'absent' });
    expect(wanted.get('/etc/systemd/system/m.service')).toMatchObject({ onlyMask: true });
    expect(wanted.has('/etc/systemd/system/n.service')).toBe(false);
  });

  it('want a file that is also an empty drop-in, or a unit that is not masked', () => {
    const dropin = '/etc/systemd/system/a.service.d/b.conf';
    const unit = '/etc/systemd/system/m.service';
    const { spec } = aConfig('a', {
      config: {
        storage: {
          files: [dropin, unit].map((path) => ({ path, contents: { source: 'data:,x' } })),
        },
        systemd: {
          units: [
            { name: 'a.service', dropins: [{ name: 'b.conf' }] },
            { name: 'm.service', mask: false },
          ],
        },
      },
    });

    const wanted = wantedPaths(spec);

    expect([dropin, unit].map((path) => textAt(wanted, path))).toEqual(['x', 'x']);
  });

  it('are none of a unit that says nothing', () => {
    expect(ofUnits({ name: 'a.service' }, { name: 'b.service', dropins: [] }).size).toBe(0);
  });

  it.each(['../evil.service', 'a/b.service', ''])('are refused with the name %j', (name) => {
    expect(() => ofUnits({ name, contents: 'x' })).toThrow(/plain file name/);
    expect(() => ofUnits({ name: 'a.service', dropins: [{ name, contents: 'x' }] })).toThrow(
      /plain file name/,
    );
  });
});

describe('the user that a config wants', () => {
  it('has the keys of all users, one per line, readable by nobody else', () => {
    const users = [
      { name: 'core', sshAuthorizedKeys: ['one', 'two'], passwordHash: '$6$x' },
      { name: 'core', sshAuthorizedKeys: ['three'] },
    ];
    const { spec } = aConfig('a', { config: { passwd: { users } } });

    expect(textAt(wantedPaths(spec), SSH_KEYS_FILE)).toBe('one\ntwo\nthree\n');
    expect(wantedPaths(spec).get(SSH_KEYS_FILE)).toMatchObject({ mode: 0o600 });
    expect(passwordHash(spec)).toBe('$6$x');
  });

  it('has no key file without keys', () => {
    expect(wantedPaths(aConfig('a').spec).size).toBe(0);
  });
});
