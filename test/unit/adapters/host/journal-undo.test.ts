import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  createAttributes,
  createHostFiles,
  createJournal,
  type FileSystem,
  type HostFiles,
  NODE_FILE_SYSTEM,
} from '../../../../adapters/host';
import { simulatedOwnership } from '../../../../adapters/simulation';
import { treeOf } from './trees';
import { expectUndone, OWNER, plant, update } from './undo-property';

const PACK = 'var/lib/slipway/journal/order/pack';

/** An access list that lets user 12345 read. */
const ACL =
  '0x0200000001000600ffffffff020004003930000004000400ffffffff10000400ffffffff20000000ffffffff';

describe('undo', () => {
  let root: string;
  let files: HostFiles;
  const journalOf = (some: HostFiles) => createJournal<object, string>(some);

  const hostFiles = (fs?: FileSystem): HostFiles =>
    createHostFiles({
      root,
      sync: false,
      ownership: simulatedOwnership(root),
      ...(fs === undefined ? {} : { fs }),
    });

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-undo-'));
    files = hostFiles();
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  // More trees in test/integration/host/journal-undo.all.test.ts.
  it('gives back every bit, extended attributes too, whatever was there and whatever came', () =>
    expectUndone(4));

  it('gives back a directory that went with its last entry', async () => {
    const directory = '/etc/systemd/system/x.target.wants';
    mkdirSync(join(root, directory), { recursive: true });
    chmodSync(join(root, directory), 0o2750);
    symlinkSync('/nowhere', join(root, directory, 'a.service'));
    const before = treeOf(root, 'var');
    const journal = await journalOf(files).begin('order', {});
    await journal.record([directory, `${directory}/a.service`]);
    rmSync(join(root, directory), { recursive: true });

    await (await journalOf(files).open())?.undo();

    expect(treeOf(root, 'var')).toEqual(before);
  });

  it('never holds a big file in memory', async () => {
    // Several of the pieces that are copied at a time.
    const size = 5 * 1024 * 1024;
    const big = join(root, 'etc/big');
    mkdirSync(dirname(big));
    writeFileSync(big, Buffer.alloc(size, 7));
    let whole = 0;
    const fs: FileSystem = {
      ...NODE_FILE_SYSTEM,
      readFileSync: ((...args: Parameters<FileSystem['readFileSync']>) => {
        const read = NODE_FILE_SYSTEM.readFileSync(...args);
        whole = Math.max(whole, read.length);
        return read;
      }) as FileSystem['readFileSync'],
    };
    const careful = hostFiles(fs);
    const journal = await journalOf(careful).begin('order', {});
    const small = {
      kind: 'file',
      content: Buffer.from('small'),
      mode: 0o644,
      owner: OWNER,
    } as const;

    await update(careful, [{ path: '/etc/big', state: small }], (paths) => journal.record(paths));
    expect(readFileSync(big, 'utf8')).toBe('small');
    await (await journalOf(careful).open())?.undo();

    expect(readFileSync(big).equals(Buffer.alloc(size, 7))).toBe(true);
    expect(whole).toBeLessThan(8192);
  });

  it.each<[string, (pack: string) => void]>([
    ['a changed byte', (pack) => writeFileSync(pack, '!', { flag: 'r+' })],
    ['its end missing', (pack) => truncateSync(pack, 5000)],
    ['been removed', (pack) => rmSync(pack)],
  ])('changes nothing when the pack has %s', async (_what, damage) => {
    plant(root, [
      { path: '/etc/big', content: Buffer.alloc(9000, 1), mode: 0o644, attributes: {} },
      { path: '/etc/small', content: Buffer.from('old'), mode: 0o644, attributes: {} },
    ]);
    const journal = await journalOf(files).begin('order', {});
    const state = { kind: 'file', content: Buffer.from('new'), mode: 0o644, owner: OWNER } as const;
    const changes = ['/etc/small', '/etc/big'].map((path) => ({ path, state }));
    await update(files, changes, (paths) => journal.record(paths));
    const updated = treeOf(root, 'var');
    damage(join(root, PACK));

    const again = await journalOf(files).open();
    await expect(again?.undo()).rejects.toMatchObject({
      name: 'RollbackFailed',
      message: `the before-image of /etc/big in /${PACK} is damaged; nothing was changed`,
    });
    expect(treeOf(root, 'var')).toEqual(updated);
  });

  it('is not misled by what a crash left at the end of the pack', async () => {
    const big = { path: '/etc/big', content: Buffer.alloc(9000, 1), mode: 0o644, attributes: {} };
    plant(root, [big, { ...big, path: '/etc/bigger', content: Buffer.alloc(9999, 2) }]);
    const before = treeOf(root, 'var');
    const journal = await journalOf(files).begin('order', {});
    await journal.record(['/etc/big']);
    appendFileSync(join(root, PACK), 'half of a before-image');
    await (await journalOf(files).open())?.record(['/etc/bigger']);
    await files.change(
      ['/etc/big', '/etc/bigger'].map((path) => ({ path, state: { kind: 'absent' } })),
    );

    await (await journalOf(files).open())?.undo();

    expect(treeOf(root, 'var')).toEqual(before);
  });

  it('works without the programs for extended attributes, which are then not kept', async () => {
    plant(root, [
      {
        path: '/etc/a',
        content: Buffer.from('old'),
        mode: 0o640,
        attributes: { 'user.a': Buffer.from('x') },
      },
    ]);
    const bare = createHostFiles({
      root,
      sync: false,
      ownership: simulatedOwnership(root),
      attributes: createAttributes({ get: 'no-such-getfattr', set: 'no-such-setfattr' }),
    });
    const journal = await journalOf(bare).begin('order', {});
    await journal.record(['/etc/a']);
    await bare.writeFile('/etc/a', { content: Buffer.from('new'), mode: 0o600, owner: OWNER });

    await journal.undo();

    expect(readFileSync(join(root, 'etc/a'), 'utf8')).toBe('old');
    expect(treeOf(root, 'var')['etc/a']).toMatch(/^file 100640 /);
    expect(treeOf(root, 'var')['etc/a']).not.toContain('user.a');
  });
});

describe('a file that is rewritten', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-keep-'));
    mkdirSync(join(root, 'etc'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('keeps its attributes, and its mode is the one that is wanted', async () => {
    writeFileSync(join(root, 'etc/a'), 'old');
    execFileSync('setfattr', ['-n', 'user.label', '-v', 'etc_t', join(root, 'etc/a')]);
    execFileSync('setfattr', ['-n', 'system.posix_acl_access', '-v', ACL, join(root, 'etc/a')]);
    const files = createHostFiles({ root, ownership: simulatedOwnership(root) });
    const file = { kind: 'file', content: Buffer.from('new'), mode: 0o600, owner: OWNER } as const;

    await files.change([{ path: '/etc/a', state: { ...file, attributes: { keep: true } } }]);

    const tree = treeOf(root);
    expect(tree['etc/a']).toContain('user.label=0sZXRjX3Q=');
    expect(tree['etc/a']).not.toContain('posix_acl');
    expect(tree['etc/a']).toMatch(/^file 100600 /);
  });
});
