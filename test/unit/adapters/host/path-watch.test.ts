/** Real inotify on a temporary root; each test waits for the event that it causes. */

import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPathProbe, createPathWatch, type PathWatch } from '../../../../adapters/host';

let root: string;
let watch: PathWatch;
let heard: Set<string>;
let troubles: string[];
let onHeard: () => void;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slipway-watch-'));
  mkdirSync(join(root, 'etc/deep/er'), { recursive: true });
  heard = new Set();
  troubles = [];
  onHeard = () => undefined;
  watch = createPathWatch({
    root,
    onTouched: (path) => {
      heard.add(path);
      onHeard();
    },
    onTrouble: (directory, reason) => troubles.push(`${directory}: ${reason}`),
  });
});
afterEach(() => {
  watch.close();
  rmSync(root, { recursive: true, force: true });
});

const real = (path: string) => join(root, path);

/** Resolves at the event of the path; the test's own limit ends the wait. */
async function touched(path: string, cause: () => void): Promise<void> {
  heard.clear();
  const done = new Promise<void>((resolve) => {
    onHeard = () => heard.has(path) && resolve();
  });
  cause();
  await done;
}

describe('a watch of paths', () => {
  it('hears of content, mode, rename and removal', async () => {
    writeFileSync(real('/etc/a'), 'one');
    watch.set({ paths: ['/etc/a'] });

    await touched('/etc/a', () => writeFileSync(real('/etc/a'), 'two'));
    await touched('/etc/a', () => chmodSync(real('/etc/a'), 0o600));
    await touched('/etc/a', () => {
      writeFileSync(real('/etc/.new'), 'three');
      renameSync(real('/etc/.new'), real('/etc/a'));
    });
    await touched('/etc/a', () => rmSync(real('/etc/a')));
  });

  it('hears of a path whose parents come later', async () => {
    watch.set({ paths: ['/opt/x/y/file'] });

    await touched('/opt/x/y/file', () => mkdirSync(real('/opt')));
    await touched('/opt/x/y/file', () => mkdirSync(real('/opt/x/y'), { recursive: true }));
    await touched('/opt/x/y/file', () => writeFileSync(real('/opt/x/y/file'), ''));
  });

  it('hears on when a directory was replaced by another', async () => {
    writeFileSync(real('/etc/deep/er/a'), '');
    watch.set({ paths: ['/etc/deep/er/a'] });

    await touched('/etc/deep/er/a', () => rmSync(real('/etc/deep'), { recursive: true }));
    await touched('/etc/deep/er/a', () => mkdirSync(real('/etc/deep/er'), { recursive: true }));
    await touched('/etc/deep/er/a', () => writeFileSync(real('/etc/deep/er/a'), 'again'));
  });

  it('follows a link to a directory, as /home is one', async () => {
    mkdirSync(real('/var/home/core'), { recursive: true });
    symlinkSync('var/home', real('/home'));
    watch.set({ paths: ['/home/core/keys'] });

    await touched('/home/core/keys', () => writeFileSync(real('/var/home/core/keys'), ''));
  });

  it('hears of every name in a directory, and of nothing that it was not asked for', async () => {
    mkdirSync(real('/etc/a.wants'));
    watch.set({ paths: ['/etc/b'], directories: ['/etc/a.wants'] });

    writeFileSync(real('/etc/other'), '');
    await touched('/etc/a.wants', () => writeFileSync(real('/etc/a.wants/any'), ''));

    expect([...heard]).toEqual(['/etc/a.wants']);
    watch.set({ paths: ['/etc/c'] });
    writeFileSync(real('/etc/b'), '');
    await touched('/etc/c', () => writeFileSync(real('/etc/c'), ''));
    expect([...heard]).toEqual(['/etc/c']);
    expect(troubles).toEqual([]);
  });
});

describe('a probe', () => {
  it('sees what is there, and a digest of it', async () => {
    const probe = createPathProbe(root);
    writeFileSync(real('/etc/a'), 'hello', { mode: 0o640 });
    symlinkSync('/dev/null', real('/etc/mask'));

    expect(probe.look('/etc/a')).toMatchObject({ kind: 'file', mode: 0o640 });
    expect(probe.look('/etc/mask')).toMatchObject({ kind: 'symlink', target: '/dev/null' });
    expect(probe.look('/etc/deep')).toMatchObject({ kind: 'directory' });
    expect(probe.look('/no/such/thing')).toMatchObject({ kind: 'absent' });
    expect(await probe.sha256('/etc/a')).toBe(
      '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
    );
    const before = probe.look('/etc/a').stamp;
    writeFileSync(real('/etc/a'), 'hallo');
    expect(probe.look('/etc/a').stamp).not.toBe(before);
  });

  it('follows no link out of the root', () => {
    symlinkSync('/etc', real('/outside'));
    expect(createPathProbe(root).look('/outside/passwd')).toMatchObject({ kind: 'absent' });
  });
});
