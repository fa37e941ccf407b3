import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createHostFiles,
  isPlainPath,
  NO_ATTRIBUTES,
  NODE_FILE_SYSTEM,
  REAL_OWNERSHIP,
} from '../../../../adapters/host';

const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const file = (text: string, mode = 0o644) => ({ content: Buffer.from(text), mode, owner });

describe('the files of a host', () => {
  let outside: string;
  let root: string;
  const at = (path: string) => join(root, path);

  beforeEach(() => {
    outside = mkdtempSync(join(tmpdir(), 'slipway-files-'));
    root = join(outside, 'root');
    mkdirSync(join(root, 'etc'), { recursive: true });
  });
  afterEach(() => rmSync(outside, { recursive: true, force: true }));

  it('have their mode whatever the umask is, and leave nothing beside them', async () => {
    const files = createHostFiles({ root });

    await files.writeFile('/etc/a', file('text', 0o777));

    expect(statSync(at('/etc/a')).mode & 0o7777).toBe(0o777);
    expect(readFileSync(at('/etc/a'), 'utf8')).toBe('text');
    expect(readdirSync(at('/etc'))).toEqual(['a']);
  });

  it('get their mode before their data, and are replaced in one step', async () => {
    const calls: string[] = [];
    const fs = {
      ...NODE_FILE_SYSTEM,
      async open(...args: Parameters<typeof NODE_FILE_SYSTEM.open>) {
        const handle = await NODE_FILE_SYSTEM.open(...args);
        const [chmod, write, sync] = [handle.chmod, handle.writeFile, handle.sync].map((call) =>
          (call as (...args: unknown[]) => Promise<void>).bind(handle),
        );
        return Object.assign(handle, {
          chmod: (mode: number) => (calls.push('chmod'), chmod?.(mode)),
          writeFile: (data: Buffer) => (calls.push('write'), write?.(data)),
          sync: () => (calls.push('sync'), sync?.()),
        });
      },
      rename: (from: string, to: string) => (
        calls.push('rename'),
        NODE_FILE_SYSTEM.rename(from, to)
      ),
    } as unknown as typeof NODE_FILE_SYSTEM;

    await createHostFiles({ root, fs }).writeFile('/etc/a', file('secret', 0o600));

    expect(calls).toEqual(['chmod', 'write', 'sync', 'rename', 'sync']);
  });

  it('are written many at a time: each directory is synced once, attributes are asked for in batches', async () => {
    let [directorySyncs, reads] = [0, 0];
    const fs = {
      ...NODE_FILE_SYSTEM,
      open(...args: Parameters<typeof NODE_FILE_SYSTEM.open>) {
        if (args[1] === 'r') directorySyncs += 1;
        return NODE_FILE_SYSTEM.open(...args);
      },
    } as typeof NODE_FILE_SYSTEM;
    const attributes = {
      ...NO_ATTRIBUTES,
      read: (fds: readonly number[]) => ((reads += 1), NO_ATTRIBUTES.read(fds)),
    };
    const files = createHostFiles({ root, fs, attributes });
    const state = { kind: 'file', ...file('x'), attributes: { keep: true } } as const;
    const directory = { kind: 'directory', mode: 0o755, owner } as const;

    await files.change([
      ...['/etc/a', '/etc/b'].map((path) => ({ path, state: directory })),
      ...Array.from({ length: 300 }, (_, i) => ({ path: `/etc/${i % 2 ? 'a' : 'b'}/${i}`, state })),
    ]);

    expect(readdirSync(at('/etc/a'))).toHaveLength(150);
    expect(directorySyncs).toBe(3);
    expect(reads).toBe(5);
  });

  it('replace a link instead of writing through it', async () => {
    writeFileSync(join(outside, 'victim'), 'untouched');
    symlinkSync(join(outside, 'victim'), at('/etc/a'));
    const files = createHostFiles({ root });

    await files.writeFile('/etc/a', file('mine'));

    expect(lstatSync(at('/etc/a')).isFile()).toBe(true);
    expect(readFileSync(join(outside, 'victim'), 'utf8')).toBe('untouched');
  });

  it.each([
    ['an absolute link', '/etc/evil', (path: string) => symlinkSync('/elsewhere', path)],
    ['a link with dots', '/etc/evil', (path: string) => symlinkSync('../../../../elsewhere', path)],
  ])('stay below the root behind %s', async (_what, link, make) => {
    make(at(link));
    mkdirSync(at('/elsewhere'));
    const files = createHostFiles({ root });

    await files.writeFile(`${link}/a`, file('inside'));

    expect(readFileSync(at('/elsewhere/a'), 'utf8')).toBe('inside');
    expect(existsSync(join(outside, 'elsewhere'))).toBe(false);
    expect(existsSync('/elsewhere/a')).toBe(false);
  });

  it('refuse links that lead in a circle', async () => {
    symlinkSync('/b', at('/a'));
    symlinkSync('/a', at('/b'));

    await expect(createHostFiles({ root }).look('/a/file')).rejects.toMatchObject({
      code: 'ELOOP',
    });
  });

  it.each(['/etc/../../outside', 'etc/a', '/etc//a', '/etc/.', '/', '/etc/a\0b', ''])(
    'refuse the path %j',
    async (path) => {
      expect(isPlainPath(path)).toBe(false);
      await expect(createHostFiles({ root }).writeFile(path, file('x'))).rejects.toMatchObject({
        code: 'EINVAL',
      });
    },
  );

  it('list neither leftovers nor what is not there, and sweep leftovers away', async () => {
    const files = createHostFiles({
      root,
      fs: {
        ...NODE_FILE_SYSTEM,
        rename: () => Promise.reject(new Error('power failure')),
        unlink: () => Promise.reject(new Error('power failure')),
      },
    });
    await expect(files.writeFile('/etc/a', file('x'))).rejects.toThrow('power failure');
    expect(readdirSync(at('/etc'))).toHaveLength(1);

    expect(await files.list('/etc')).toEqual([]);
    expect(await files.list('/nothing')).toEqual([]);
    await createHostFiles({ root }).sweep('/etc/a');
    expect(readdirSync(at('/etc'))).toEqual([]);
  });

  it('make a directory whole or not at all, and sweep away what was begun', async () => {
    const attributes = { mode: 0o755, owner };
    const dies = () => Promise.reject(new Error('power failure'));
    const files = createHostFiles({
      root,
      fs: { ...NODE_FILE_SYSTEM, rename: dies, rmdir: dies },
    });
    await expect(files.makeDirectory('/etc/d', attributes)).rejects.toThrow('power failure');
    expect(readdirSync(at('/etc'))).toEqual([expect.stringMatching(/^\.slipway-/)]);

    await createHostFiles({ root }).sweep('/etc/d');
    expect(readdirSync(at('/etc'))).toEqual([]);

    await expect(files.makeDirectory('/etc/d', attributes)).rejects.toThrow('power failure');
    await createHostFiles({ root }).makeDirectory('/etc/d', attributes);
    expect(readdirSync(at('/etc'))).toEqual(['d']);
    expect(statSync(at('/etc/d')).mode & 0o777).toBe(0o755);
  });

  it('leave a directory of somebody under the name of a temporary one, and one that appears meanwhile', async () => {
    const temporary = at(
      `/etc/.slipway-${createHash('sha256').update('d').digest('hex').slice(0, 16)}`,
    );
    mkdirSync(join(temporary, 'theirs'), { recursive: true });
    await createHostFiles({ root }).sweep('/etc/d');
    expect(existsSync(join(temporary, 'theirs'))).toBe(true);
    rmSync(temporary, { recursive: true });

    const ownership = {
      ...REAL_OWNERSHIP,
      set: async () => mkdirSync(at('/etc/d'), { mode: 0o711 }),
    };
    await createHostFiles({ root, ownership }).makeDirectory('/etc/d', { mode: 0o755, owner });

    expect(readdirSync(at('/etc'))).toEqual(['d']);
    expect(statSync(at('/etc/d')).mode & 0o777).toBe(0o711);
  });

  it('leave nothing of a directory that they cannot give to its owner', async () => {
    const ownership = {
      ...REAL_OWNERSHIP,
      set: () => Promise.reject(new Error('not permitted')),
    };
    const files = createHostFiles({ root, ownership });

    const making = files.makeDirectory('/etc/d', { mode: 0o755, owner });

    await expect(making).rejects.toThrow('not permitted');
    expect(readdirSync(at('/etc'))).toEqual([]);
  });

  it('say what is at a path', async () => {
    const files = createHostFiles({ root });
    await files.writeLink('/etc/link', '/dev/null');
    writeFileSync(at('/etc/file'), 'text');
    chmodSync(at('/etc/file'), 0o640);

    expect(await files.look('/etc/link')).toEqual({ kind: 'symlink', target: '/dev/null' });
    expect(readlinkSync(at('/etc/link'))).toBe('/dev/null');
    expect(await files.look('/etc/file')).toMatchObject({ kind: 'file', mode: 0o640 });
    expect(await files.look('/etc/file/below')).toEqual({ kind: 'absent' });
    expect(await files.look('/etc')).toMatchObject({ kind: 'directory' });
  });

  it('remove directories only when they are empty', async () => {
    const files = createHostFiles({ root });
    await files.makeDirectory('/etc/d', { mode: 0o700, owner });
    expect(statSync(at('/etc/d')).mode & 0o777).toBe(0o700);

    writeFileSync(at('/etc/d/a'), '');
    await files.removeDirectory('/etc/d');
    expect(existsSync(at('/etc/d'))).toBe(true);
    await files.remove('/etc/d/a');
    await files.removeDirectory('/etc/d');
    await files.removeDirectory('/etc/d');
    expect(existsSync(at('/etc/d'))).toBe(false);
  });
});
