/** Random trees, random changes of them, and that undoing them gives back every bit. */

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import {
  createHostFiles,
  createJournal,
  type HostFiles,
  type PathChange,
} from '../../../../adapters/host';
import { simulatedOwnership } from '../../../../adapters/simulation';
import { treeOf } from './trees';

export const OWNER = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

/** Directories that both trees and changes use, so that they meet. */
const DIRECTORIES = ['/etc', '/etc/a', '/etc/a/b', '/srv', '/srv/new/deep'];
const path = fc
  .tuple(fc.constantFrom(...DIRECTORIES), fc.constantFrom('one', 'two', 'a "quoted"\n name', 'ä'))
  .map(([directory, name]) => `${directory}/${name}`);
const content = fc
  .record({ seed: fc.nat(255), size: fc.constantFrom(0, 1, 4096, 4097, 70_000, 1_100_000) })
  .map(({ seed, size }) => Buffer.alloc(size, seed));
const mode = fc.constantFrom(0o600, 0o644, 0o755, 0o4755, 0o2711, 0o1640, 0o400);
const attributes = fc.dictionary(
  fc.constantFrom('user.a', 'user.odd name'),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
);

interface Entry {
  readonly path: string;
  readonly link?: string;
  readonly content: Buffer;
  readonly mode: number;
  readonly attributes: Record<string, Buffer>;
}
const entry: fc.Arbitrary<Entry> = fc.record(
  { path, link: fc.constantFrom('/dev/null', '../nowhere'), content, mode, attributes },
  { requiredKeys: ['path', 'content', 'mode', 'attributes'] },
);
const change: fc.Arbitrary<PathChange> = fc.oneof(
  fc.record({ path, state: fc.constant({ kind: 'absent' } as const) }),
  fc.record({ path, state: fc.constant({ kind: 'symlink', target: '/dev/null' } as const) }),
  fc.record({
    path,
    state: fc.record({
      kind: fc.constant('file' as const),
      content,
      mode,
      owner: fc.constant(OWNER),
      attributes: fc.constantFrom({ keep: true as const }, { exactly: { 'user.new': 'bmV3' } }),
    }),
  }),
);

export function plant(root: string, entries: readonly Entry[]): void {
  for (const { path, link, content, mode, attributes } of entries) {
    const real = join(root, path);
    mkdirSync(dirname(real), { recursive: true });
    rmSync(real, { force: true });
    if (link !== undefined) {
      symlinkSync(link, real);
      continue;
    }
    writeFileSync(real, content);
    for (const [name, value] of Object.entries(attributes)) {
      execFileSync('setfattr', ['-n', name, '-v', `0x${value.toString('hex')}`, real]);
    }
    chmodSync(real, mode);
  }
}

/** Makes changes as an update does: before-images first, then directories, then the rest. */
export async function update(
  files: HostFiles,
  changes: readonly PathChange[],
  record: (paths: readonly string[]) => Promise<void>,
): Promise<void> {
  await record(changes.map(({ path }) => path));
  const directories: PathChange[] = DIRECTORIES.concat('/srv/new')
    .sort()
    .map((path) => ({ path, state: { kind: 'directory', mode: 0o755, owner: OWNER } }));
  const needed = directories.filter((directory) =>
    changes.some(
      ({ path, state }) => state.kind !== 'absent' && path.startsWith(`${directory.path}/`),
    ),
  );
  await files.change([...needed, ...changes]);
}

/** Undone twice: a machine may die between the two. */
export async function expectUndone(numRuns: number): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'slipway-undo-'));
  const files = createHostFiles({ root, sync: false, ownership: simulatedOwnership(root) });
  const journals = createJournal<object, string>(files);
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { maxLength: 8 }),
        fc.array(change, { minLength: 1, maxLength: 10 }),
        async (entries, changes) => {
          rmSync(root, { recursive: true });
          mkdirSync(root);
          plant(root, entries);
          const before = treeOf(root, 'var');
          const journal = await journals.begin('order', {});
          await update(files, changes, (paths) => journal.record(paths));

          const again = await journals.open();
          await again?.undo();
          expect(treeOf(root, 'var')).toEqual(before);
          await again?.undo();
          expect(treeOf(root, 'var')).toEqual(before);
          await again?.close();
          expect(await journals.open()).toBeUndefined();
        },
      ),
      { numRuns },
    );
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
