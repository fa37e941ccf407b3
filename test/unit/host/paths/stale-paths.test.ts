import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { noOriginalPath, ORIGINAL_PLACES, originalPath } from '../../../../core/machine-config';
import { aConfig, aFile, aHost, orderFor, type TestConfig, type TestHost } from '../a-host';

const NOTHING = aConfig('rendered-worker-nothing');

describe('a path that a config no longer has', () => {
  let host: TestHost;
  let configs: TestConfig[];
  let run = 0;
  const at = (path: string) => join(host.root, path);
  const read = (path: string) => readFileSync(at(path), 'utf8');
  const write = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), text, { mode });
  };

  beforeEach(async () => {
    configs = [NOTHING];
    host = await aHost(configs);
    await change(NOTHING);
  });
  afterEach(() => host.remove());

  /** Changes the config without the reboot, which does not matter here. */
  async function change(config: TestConfig): Promise<void> {
    if (!configs.includes(config)) configs.push(config);
    run += 1;
    const order = (step: string) => ({ ...orderFor(config, step), orderId: `${run}/${step}` });
    const activities = await host.activities();
    await activities.prepareUpdate(order('prepareUpdate'));
    await activities.applyUpdate(order('applyUpdate'));
    await activities.verifyUpdate(order('verifyUpdate'));
    await activities.commitUpdate(order('commitUpdate'));
  }

  const withFiles = (name: string, ...files: ReturnType<typeof aFile>[]) =>
    aConfig(name, { config: { storage: { files } } });

  it('is removed when nothing was there before, with its stamp', async () => {
    await change(withFiles('a', aFile('/etc/x', 'one')));
    expect(existsSync(at(noOriginalPath('/etc/x')))).toBe(true);

    await change(NOTHING);

    expect(existsSync(at('/etc/x'))).toBe(false);
    expect(existsSync(at(noOriginalPath('/etc/x')))).toBe(false);
  });

  it('gets back the content and the mode that it had', async () => {
    write('/etc/x', 'the original', 0o640);
    await change(withFiles('a', aFile('/etc/x', 'one', 0o600)));
    await change(withFiles('b', aFile('/etc/x', 'two')));
    expect(read(originalPath('/etc/x'))).toBe('the original');

    await change(NOTHING);

    expect(read('/etc/x')).toBe('the original');
    expect(statSync(at('/etc/x')).mode & 0o777).toBe(0o640);
    expect(existsSync(at(originalPath('/etc/x')))).toBe(false);
  });

  it('gets back the link that it was', async () => {
    symlinkSync('../usr/share/zone', at('/etc/localtime'));
    await change(withFiles('a', aFile('/etc/localtime', 'mine')));
    expect(lstatSync(at('/etc/localtime')).isFile()).toBe(true);

    await change(NOTHING);

    expect(readlinkSync(at('/etc/localtime'))).toBe('../usr/share/zone');
  });

  it('is found in the places where MCO keeps originals', () => {
    expect(originalPath('/etc/a/b')).toBe('/etc/machine-config-daemon/orig/etc/a/b.mcdorig');
    expect(noOriginalPath('/etc/a/b')).toBe('/etc/machine-config-daemon/noorig/etc/a/b.mcdnoorig');
  });

  describe('is kept where only root can read it', () => {
    const path = '/etc/tool/token';
    const CLAIMED = withFiles('a', aFile(path, 'ours'), aFile('/etc/new', 'ours'));
    const modes = () => ORIGINAL_PLACES.map((place) => statSync(at(place)).mode & 0o777);
    /** As MCO does. */
    const leaveOpen = (): void => {
      for (const place of ORIGINAL_PLACES) {
        write(`${place}/etc/another`, 'theirs');
        chmodSync(at(place), 0o755);
      }
    };

    beforeEach(() => {
      write(path, 'secret, although everybody may read it');
      chmodSync(at(dirname(path)), 0o700);
    });

    it('from the first update on', async () => {
      await change(CLAIMED);

      expect(read(originalPath(path))).toContain('secret');
      expect(modes()).toEqual([0o700, 0o700]);
    });

    it('also where everybody could read what was kept before', async () => {
      leaveOpen();

      await change(CLAIMED);

      expect(modes()).toEqual([0o700, 0o700]);
    });

    it('and stays so when the update is rolled back, with all that was there', async () => {
      leaveOpen();
      if (!configs.includes(CLAIMED)) configs.push(CLAIMED);
      const activities = await host.activities();
      await activities.prepareUpdate(orderFor(CLAIMED, 'prepareUpdate'));
      await activities.applyUpdate(orderFor(CLAIMED, 'applyUpdate'));
      expect(read(path)).toBe('ours');

      await activities.goBack(orderFor(CLAIMED, 'goBack'));
      await activities.verifyBack(orderFor(CLAIMED, 'verifyBack'));

      expect(read(path)).toContain('secret');
      expect(existsSync(at('/etc/new'))).toBe(false);
      expect(existsSync(at(originalPath(path)))).toBe(false);
      expect(ORIGINAL_PLACES.map((place) => read(`${place}/etc/another`))).toEqual([
        'theirs',
        'theirs',
      ]);
      expect(modes()).toEqual([0o700, 0o700]);
    });
  });

  it('stays when it moved from the files to the drop-ins', async () => {
    const path = '/etc/systemd/system/a.service.d/10.conf';
    await change(withFiles('a', aFile(path, '[Unit]\n')));
    const dropins = [{ name: '10.conf', contents: '[Service]\n' }];
    await change(
      aConfig('b', { config: { systemd: { units: [{ name: 'a.service', dropins }] } } }),
    );

    expect(read(path)).toBe('[Service]\n');
  });

  describe('of a unit that the next config only unmasks', () => {
    const path = '/etc/systemd/system/v.socket';
    type Unit = { readonly contents?: string; readonly mask?: boolean };
    const withUnit = (name: string, unit: Unit) =>
      aConfig(name, { config: { systemd: { units: [{ name: 'v.socket', ...unit }] } } });
    const UNMASKED = withUnit('unmasked', { mask: false });

    it.each<[string, Unit]>([
      ['its contents', { contents: '[Socket]\n' }],
      ['a mask', { mask: true }],
    ])('takes %s with it, and the stamp', async (_what, unit) => {
      await change(withUnit('a', unit));

      await change(UNMASKED);

      expect(lstatSync(at(path), { throwIfNoEntry: false })).toBeUndefined();
      expect(existsSync(at(noOriginalPath(path)))).toBe(false);
    });

    it.each<[string, Unit]>([
      ['its contents', { contents: '[Socket]\n' }],
      ['a mask', { mask: true }],
    ])('gets back what was there before %s', async (_what, unit) => {
      write(path, 'of a person', 0o640);
      await change(withUnit('a', unit));

      await change(UNMASKED);

      expect(read(path)).toBe('of a person');
      expect(statSync(at(path)).mode & 0o777).toBe(0o640);
      expect(existsSync(at(originalPath(path)))).toBe(false);
    });

    it('does not get back a mask', async () => {
      mkdirSync(dirname(at(path)), { recursive: true });
      symlinkSync('/dev/null', at(path));
      await change(withUnit('a', { contents: '[Socket]\n' }));

      await change(UNMASKED);

      expect(lstatSync(at(path), { throwIfNoEntry: false })).toBeUndefined();
      expect(existsSync(at(originalPath(path)))).toBe(false);
    });

    it('keeps what no config has put there', async () => {
      write(path, 'of a person');

      await change(UNMASKED);
      await change(NOTHING);

      expect(read(path)).toBe('of a person');
    });

    it.each([
      ['the next config that unmasks it', withUnit('again', { mask: false })],
      ['the config that leaves it', NOTHING],
    ])('is settled by %s when MCO left it behind', async (_what, next) => {
      await change(UNMASKED);
      write(path, 'of a config long gone');
      write(noOriginalPath(path), '');

      await change(next);

      expect(existsSync(at(path))).toBe(false);
      expect(existsSync(at(noOriginalPath(path)))).toBe(false);
    });
  });

  it('stays when it is a certificate that others still read', async () => {
    await change(withFiles('a', aFile('/etc/kubernetes/kubelet-ca.crt', 'ca')));

    await change(NOTHING);

    expect(read('/etc/kubernetes/kubelet-ca.crt')).toBe('ca');
  });

  it('stays as others wrote it, until a config says something new about it', async () => {
    const path = '/etc/kubernetes/kubelet-ca.crt';
    await change(withFiles('a', aFile(path, 'ca')));
    write(path, 'renewed');

    await change(withFiles('b', aFile(path, 'ca'), aFile('/etc/x', 'one')));
    expect(read(path)).toBe('renewed');

    await change(withFiles('c', aFile(path, 'of the config')));
    expect(read(path)).toBe('of the config');
  });

  it('takes its unit and the links of its unit with it, and leaves the unit of the distribution', async () => {
    const vendor = '/usr/lib/systemd/system/v.service';
    write(vendor, '[Install]\nWantedBy=x.target\n');
    const contents = '[Install]\nWantedBy=y.target\n';
    const units = ['v.service', 'own.service'].map((name) => ({ name, contents, enabled: true }));
    await change(aConfig('a', { config: { systemd: { units } } }));
    expect(readlinkSync(at('/etc/systemd/system/y.target.wants/own.service'))).toContain('own');

    await change(NOTHING);

    expect(existsSync(at('/etc/systemd/system/own.service'))).toBe(false);
    expect(() => readlinkSync(at('/etc/systemd/system/y.target.wants/own.service'))).toThrow(
      'ENOENT',
    );
    expect(() => readlinkSync(at('/etc/systemd/system/y.target.wants/v.service'))).toThrow(
      'ENOENT',
    );
    expect(read(vendor)).toContain('x.target');
  });

  it('closes the door when it was the keys or the password', async () => {
    const users = [{ name: 'core', sshAuthorizedKeys: ['key'], passwordHash: '$6$x' }];
    await change(aConfig('a', { config: { passwd: { users } } }));
    expect(read('/etc/shadow')).toContain('core:$6$x:');
    expect(statSync(at('/home/core/.ssh')).mode & 0o777).toBe(0o700);

    await change(NOTHING);

    expect(existsSync(at('/home/core/.ssh/authorized_keys.d/ignition'))).toBe(false);
    expect(read('/etc/shadow')).toContain('core:*:');
    expect(read('/etc/shadow')).toContain('root:!locked:');
  });

  it('keeps the content of a file that the config only wants to exist', async () => {
    write('/etc/x', 'somebody wrote this');
    const file = { path: '/etc/x', overwrite: false, mode: 0o600 };
    await change(aConfig('a', { config: { storage: { files: [file] } } }));

    expect(read('/etc/x')).toBe('somebody wrote this');
    expect(statSync(at('/etc/x')).mode & 0o777).toBe(0o600);
  });

  it('is written also over a file that is not to be overwritten, and comes back later', async () => {
    write('/etc/x', 'the original', 0o640);
    const file = { ...aFile('/etc/x', 'of the config'), overwrite: false };

    await change(withFiles('a', file));

    expect(read('/etc/x')).toBe('of the config');
    expect(statSync(at('/etc/x')).mode & 0o777).toBe(0o644);

    await change(NOTHING);

    expect(read('/etc/x')).toBe('the original');
    expect(statSync(at('/etc/x')).mode & 0o777).toBe(0o640);
  });

  it('is refused when it is a directory, with the path and with nothing changed', async () => {
    mkdirSync(at('/etc/x'));
    const config = withFiles('a', aFile('/etc/a', 'first'), aFile('/etc/x', 'one'));

    await expect(change(config)).rejects.toMatchObject({
      name: 'ApplyFailed',
      message: 'write /etc/x: it is a directory on the host',
    });
    expect(existsSync(at('/etc/a'))).toBe(false);
  });

  it('is refused when its owner is nobody on the host', async () => {
    const file = { ...aFile('/etc/a', 'x'), user: { name: 'nobody-here' } };
    const config = aConfig('a', { config: { storage: { files: [file] } } });

    await expect(change(config)).rejects.toThrow(
      'find user nobody-here: the host has no such user',
    );
  });
});
