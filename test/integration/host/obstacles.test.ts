import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { treeOf } from '../../unit/adapters/host/trees';
import {
  aConfig,
  aFile,
  aHost,
  orderFor,
  type TestConfig,
  type TestHost,
} from '../../unit/host/a-host';

const OLD = aConfig('rendered-worker-old', {
  config: { storage: { files: [aFile('/etc/first', 'old'), aFile('/etc/x', 'old')] } },
});
const NEW = aConfig('rendered-worker-new', {
  config: {
    storage: {
      files: [aFile('/etc/first', 'new'), aFile('/etc/x', 'new'), aFile('/srv/a/b', 'b')],
    },
  },
});
const withKeys = (name: string, key: string) =>
  aConfig(name, { config: { passwd: { users: [{ name: 'core', sshAuthorizedKeys: [key] }] } } });
const fileOnly = (name: string, path: string, text = 'text') =>
  aConfig(name, { config: { storage: { files: [aFile(path, text)] } } });

function refuseWithoutRoot(): void {
  if (process.getuid?.() === 0) return;
  throw new Error('run these tests as root: they mount file systems and make devices');
}

describe('a host on which something is in the way', () => {
  let host: TestHost;
  let before: Readonly<Record<string, string>>;
  const mounts: string[] = [];
  const at = (path: string) => join(host.root, path);
  const configs: TestConfig[] = [];

  beforeAll(refuseWithoutRoot);
  beforeEach(async () => {
    configs.splice(0, configs.length, OLD, NEW);
    host = await aHost(configs);
    mkdirSync(at('/srv'));
    await step(OLD, 'prepareUpdate');
    await step(OLD, 'applyUpdate');
    await step(OLD, 'verifyUpdate');
    await step(OLD, 'commitUpdate');
  });
  afterEach(() => {
    for (const path of mounts.splice(0).reverse()) execFileSync('umount', ['--lazy', path]);
    if (existsSync(at('/etc/x'))) execFileSync('chattr', ['-i', at('/etc/x')]);
    host.remove();
  });

  async function step(
    config: TestConfig,
    name:
      'prepareUpdate' | 'applyUpdate' | 'verifyUpdate' | 'commitUpdate' | 'goBack' | 'verifyBack',
  ): Promise<unknown> {
    if (!configs.includes(config)) configs.push(config);
    const orderId = `${config.reference.name}/${name}`;
    const activities = await host.activities();
    return activities[name]({ ...orderFor(config, name), orderId });
  }

  function mountAt(path: string, options: string): void {
    const kept = `${host.root}-kept`;
    execFileSync('cp', ['-a', at(path), kept]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'slipway-test', at(path)]);
    mounts.push(at(path));
    execFileSync('cp', ['-a', `${kept}/.`, at(path)]);
    rmSync(kept, { recursive: true });
  }

  function readOnly(path: string): void {
    execFileSync('mount', ['--bind', at(path), at(path)]);
    mounts.push(at(path));
    execFileSync('mount', ['-o', 'remount,bind,ro', at(path)]);
  }

  /** Fills the file system to the last byte. */
  function fill(path: string): void {
    const { bavail, bsize } = statfsSync(at(path));
    writeFileSync(join(at(path), 'filler'), Buffer.alloc(Number(bavail) * Number(bsize)));
  }

  /** Refused while it is prepared: the node is not even drained. */
  async function expectRefused(config: TestConfig, message: RegExp | string, name = 'ApplyFailed') {
    before = treeOf(host.root);
    await expect(step(config, 'prepareUpdate')).rejects.toMatchObject({
      name,
      message: typeof message === 'string' ? message : (expect.stringMatching(message) as string),
    });
    expect(treeOf(host.root)).toEqual(before);
    expect(journals()).toEqual([]);
  }

  const journals = (): readonly string[] => {
    const directory = at('/var/lib/slipway/journal');
    return existsSync(directory) ? readdirSync(directory) : [];
  };

  it.each<[string, string, () => void, RegExp | string]>([
    [
      'a directory',
      '/etc/d',
      () => mkdirSync(at('/etc/d')),
      'write /etc/d: it is a directory on the host',
    ],
    [
      'a pipe',
      '/etc/p',
      () => execFileSync('mkfifo', [at('/etc/p')]),
      'write /etc/p: it is not a file on the host',
    ],
    [
      'a device',
      '/etc/n',
      () => execFileSync('mknod', [at('/etc/n'), 'c', '1', '3']),
      'write /etc/n: it is not a file on the host',
    ],
    [
      'a parent that is a file',
      '/etc/first/a',
      () => undefined,
      'write /etc/first/a: its parent /etc/first is not a directory',
    ],
    [
      "a user's link among the parents",
      '/srv/theirs/a',
      () => {
        symlinkSync('/etc', at('/srv/theirs'));
        lchownSync(at('/srv/theirs'), 1000, 1000);
      },
      'reach /srv/theirs/a: its parent "theirs" is a link that is not followed, because user 1000 made it',
    ],
    [
      'a link where anybody may make links',
      '/srv/open/link/a',
      () => {
        mkdirSync(at('/srv/open'));
        chmodSync(at('/srv/open'), 0o1777);
        symlinkSync('/etc', at('/srv/open/link'));
      },
      /"link" is a link that is not followed, because it is in a directory that others may write to/,
    ],
    [
      'links in a circle',
      '/srv/one/a',
      () => {
        symlinkSync('two', at('/srv/one'));
        symlinkSync('one', at('/srv/two'));
      },
      'reach /srv/one/a: links among its parents lead in a circle',
    ],
    [
      'a file system that is read-only',
      '/srv/a',
      () => readOnly('/srv'),
      'write /srv/a: read-only file system (EROFS)',
    ],
  ])('refuses %s before anything is changed', async (_what, path, make, message) => {
    make();
    await expectRefused(fileOnly('obstacle', path), message);
  });

  describe('when two paths are one file', () => {
    const OPT = aFile('/opt/tool/x', 'x');
    const VAR = aFile('/var/opt/tool/x', 'x');
    const files = (name: string, ...wanted: readonly ReturnType<typeof aFile>[]) =>
      aConfig(name, { config: { storage: { files: wanted } } });
    const ONE = files('one', OPT);
    const OTHER = files('other', VAR);
    const BOTH = files('both', OPT, VAR);
    const refusal = (path: string, other: string, rest: string) =>
      `write ${path}: on this host it is the same file as ${other}, ${rest}`;

    beforeEach(() => {
      mkdirSync(at('/var/opt'), { recursive: true });
      symlinkSync('var/opt', at('/opt'));
    });

    const moveTo = async (config: TestConfig): Promise<void> => {
      await step(config, 'prepareUpdate');
      await step(config, 'applyUpdate');
      await step(config, 'verifyUpdate');
      await step(config, 'commitUpdate');
    };

    it('refuses a config that names both', async () => {
      const rest = 'which the config names, too; name it by one of the two paths';
      await expectRefused(BOTH, refusal('/opt/tool/x', '/var/opt/tool/x', rest));
    });

    it('refuses one that moves the file from one path to the other, and takes it in two steps', async () => {
      await moveTo(ONE);
      const rest =
        'which the config before names; keep to that path, or leave the file out of one config in between';
      await expectRefused(OTHER, refusal('/var/opt/tool/x', '/opt/tool/x', rest));

      await moveTo(files('without', aFile('/etc/x', 'x')));
      await moveTo(files('later', VAR));
      expect(readFileSync(at('/opt/tool/x'), 'utf8')).toBe('x');
    });

    it('knows a file by a mount, too', async () => {
      rmSync(at('/opt'));
      mkdirSync(at('/opt'));
      execFileSync('mount', ['--bind', at('/var/opt'), at('/opt')]);
      mounts.push(at('/opt'));

      await expectRefused(BOTH, /^write \/opt\/tool\/x: on this host it is the same file as /);
    });

    it('takes other files of a config that names both as before', async () => {
      rmSync(at('/opt'));
      await moveTo(BOTH);
      rmSync(at('/opt'), { recursive: true });
      symlinkSync('var/opt', at('/opt'));

      await moveTo(files('more', OPT, VAR, aFile('/etc/more', 'more')));
      expect(readFileSync(at('/etc/more'), 'utf8')).toBe('more');
      expect(readFileSync(at('/opt/tool/x'), 'utf8')).toBe('x');
    });

    it('takes two files of one name', async () => {
      await moveTo(files('two', OPT, aFile('/var/tool/x', 'y')));
      expect(readFileSync(at('/opt/tool/x'), 'utf8')).toBe('x');
      expect(readFileSync(at('/var/tool/x'), 'utf8')).toBe('y');
    });
  });

  it('does not let a user lead its keys elsewhere', async () => {
    mkdirSync(at('/home/core'), { recursive: true });
    symlinkSync('/etc', at('/home/core/.ssh'));
    lchownSync(at('/home/core/.ssh'), 1000, 1000);

    await expectRefused(
      withKeys('keys', 'ssh-ed25519 AAAA'),
      /"\.ssh" is a link.*user 1000 made it/,
    );
    expect(existsSync(at('/etc/authorized_keys.d'))).toBe(false);
  });

  it('refuses keys and a password when there is no user for them', async () => {
    for (const file of ['/etc/passwd', '/etc/shadow']) writeFileSync(at(file), 'root:x:0:0::/:\n');
    await expectRefused(withKeys('keys', 'k'), 'find user core: the host has no such user');
    const users = [{ name: 'core', passwordHash: '$6$x' }];
    await expectRefused(
      aConfig('password', { config: { passwd: { users } } }),
      'set password of core: no entry in /etc/shadow',
    );
  });

  it("gives nobody else's keys to core", async () => {
    const users = [{ name: 'eve', sshAuthorizedKeys: ['evil'] }];
    const prepared = await step(aConfig('eve', { config: { passwd: { users } } }), 'prepareUpdate');

    expect(prepared).toMatchObject({
      plan: {
        reconcilable: { ok: false, reason: expect.stringContaining('non-core user') as string },
      },
    });
    expect(existsSync(at('/home/core/.ssh'))).toBe(false);
  });

  it.each(['../../../etc/evil.service', 'a/../../evil.service', '..'])(
    'refuses the unit name %j',
    async (name) => {
      const units = [{ name, contents: '[Service]\n' }];
      await expectRefused(
        aConfig('unit', { config: { systemd: { units } } }),
        /must be a plain file name/,
        'InvalidMachineConfig',
      );
    },
  );

  it('refuses contents that are not those that their hash is of', async () => {
    const verification = { hash: `sha256-${'0'.repeat(64)}` };
    const files = [{ path: '/etc/b', contents: { source: 'data:,hello', verification } }];
    await expectRefused(
      aConfig('hash', { config: { storage: { files } } }),
      /^file \/etc\/b: the contents are not those that verification\.hash is of; /,
      'InvalidMachineConfig',
    );
  });

  it('refuses a config of which the server sent only a part', async () => {
    const part = { ...NEW, bytes: NEW.bytes.subarray(0, NEW.bytes.length - 1) };
    configs.splice(configs.indexOf(NEW), 1, part);

    await expectRefused(part, /digest is/, 'DigestMismatch');
  });

  it('refuses what does not fit, saying how much is missing', async () => {
    mountAt('/etc', 'size=2m');
    const source = `data:;base64,${gzipSync(Buffer.alloc(8 * 1024 * 1024)).toString('base64')}`;
    const files = [{ path: '/etc/big', contents: { source, compression: 'gzip' } }];

    await expectRefused(
      aConfig('big', { config: { storage: { files } } }),
      /^write \/etc\/big: the file system has \d+ bytes left, the update needs \d+$/,
    );
  });

  it.each<[string, () => void, RegExp]>([
    ['/etc is full', () => fill('/etc'), /no space left on device \(ENOSPC\)/],
    [
      'a file is immutable',
      () => execFileSync('chattr', ['+i', at('/etc/x')]),
      /^write \/etc\/x: operation not permitted \(EPERM\)$/,
    ],
    ['/etc is read-only', () => readOnly('/etc'), /read-only file system \(EROFS\)/],
    ['/var is full', () => fill('/var/lib/slipway'), /ENOSPC/],
    ['/var is read-only', () => readOnly('/var/lib/slipway'), /EROFS/],
  ])('puts everything back when %s in the middle', async (what, happen, message) => {
    if (what === '/etc is full') mountAt('/etc', 'size=4m');
    if (what === '/var is full') mountAt('/var/lib/slipway', 'size=4m');
    await step(NEW, 'prepareUpdate');
    before = treeOf(host.root);
    happen();

    await expect(step(NEW, 'applyUpdate')).rejects.toMatchObject({
      // The undo journal is there, and is written first.
      name: what.startsWith('/var') ? 'JournalFailed' : 'ApplyFailed',
      message: expect.stringMatching(message) as string,
    });

    // An administrator frees space; until then the journal keeps what must be undone.
    if (what.startsWith('/var')) {
      rmSync(at('/var/lib/slipway/filler'), { force: true });
      if (what.endsWith('read-only')) execFileSync('umount', [mounts.pop() ?? '']);
    }
    await step(NEW, 'goBack');
    await step(NEW, 'verifyBack');
    rmSync(at('/etc/filler'), { force: true });
    expect(treeOf(host.root)).toEqual(before);
    expect(journals()).toEqual([]);
  });

  it('makes room for the rollback on a full disk', async () => {
    mountAt('/var/lib/slipway', 'size=4m');
    await step(NEW, 'prepareUpdate');
    before = treeOf(host.root);
    await step(NEW, 'applyUpdate');
    expect(readFileSync(at('/etc/x'), 'utf8')).toBe('new');
    fill('/var/lib/slipway');

    const { journal } = await host.ports();
    const open = await journal.open();
    // More than the rest of the log's last page.
    await open?.mark({ kind: 'goingBack', bootId: 'boot'.repeat(2048) });
    await open?.undo();
    await open?.close();

    expect(treeOf(host.root)).toEqual(before);
    expect(journals()).toEqual([]);
  });
});
