/** A disk that refuses the journal itself: the message names the file, the call and the remedy. */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createHostFiles,
  createJournal,
  type FileSystem,
  NODE_FILE_SYSTEM,
} from '../../../../adapters/host';
import { simulatedOwnership } from '../../../../adapters/simulation';

const ERRNO = { EIO: -5, EACCES: -13, ENOSPC: -28, EROFS: -30, EPERM: -1 };
const DIRECTORY = '/var/lib/slipway/journal/order';

const refusal = (code: keyof typeof ERRNO, syscall: string): Error =>
  Object.assign(new Error(`${code}: ${syscall}`), { code, errno: ERRNO[code], syscall });

describe('a journal whose disk fails', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-journal-'));
    mkdirSync(join(root, 'etc'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const journalOn = (fs: FileSystem = NODE_FILE_SYSTEM) =>
    createJournal<object, string>(
      createHostFiles({ root, fs, ownership: simulatedOwnership(root) }),
    );

  function refusing(name: string, method: 'sync' | 'datasync' | 'writeFile', error: Error) {
    const refused = async () => Promise.reject(error);
    const open = async (...args: Parameters<FileSystem['open']>): Promise<FileHandle> => {
      const handle = await NODE_FILE_SYSTEM.open(...args);
      return String(args[0]).endsWith(`/${name}`)
        ? Object.assign(handle, { [method]: refused })
        : handle;
    };
    return { ...NODE_FILE_SYSTEM, open } as FileSystem;
  }

  it.each([
    ['log', 'writeFile', 'EIO', 'write', 'replace it'],
    ['log', 'sync', 'EIO', 'fsync', 'replace it'],
    ['log', 'writeFile', 'ENOSPC', 'write', 'free space on the file system of'],
    ['seal', 'datasync', 'EROFS', 'fdatasync', 'mount the file system of'],
  ] as const)('says so of a mark: %s %s %s', async (name, method, code, syscall, remedy) => {
    await journalOn().begin('order', {});
    const broken = journalOn(refusing(name, method, refusal(code, syscall)));
    const journal = await broken.open();

    await expect(journal?.mark('applied')).rejects.toMatchObject({
      name: 'JournalFailed',
      message: expect.stringMatching(
        new RegExp(
          `^${syscall} the undo journal, ${DIRECTORY}/${name}: .*\\(${code}\\); .*${remedy}`,
        ),
      ) as string,
      details: { path: `${DIRECTORY}/${name}`, operation: syscall, code },
    });

    // After the repair no earlier record is lost, and the next mark is written.
    const mended = await journalOn().open();
    await mended?.mark('applied');
    expect((await journalOn().open())?.marks()).toContain('applied');
  });

  it('says so when it cannot be begun, and leaves none', async () => {
    const broken = journalOn(refusing('seal', 'writeFile', refusal('EROFS', 'write')));

    await expect(broken.begin('order', {})).rejects.toMatchObject({
      name: 'JournalFailed',
      details: { path: `${DIRECTORY}/seal`, operation: 'write', code: 'EROFS' },
    });
    expect(await journalOn().open()).toBeUndefined();
  });

  it.each([
    ['openSync', 'EACCES', 'open', 'let root read and write'],
    ['readFileSync', 'EIO', 'read', 'replace it'],
  ] as const)('says so when it cannot be read: %s', async (call, code, syscall, remedy) => {
    await journalOn().begin('order', {});
    const fs = {
      ...NODE_FILE_SYSTEM,
      [call]: (...args: readonly unknown[]): unknown => {
        const isLog = call === 'readFileSync' || String(args[0]).endsWith('/log');
        if (isLog) throw refusal(code, syscall);
        return (NODE_FILE_SYSTEM[call] as (...all: readonly unknown[]) => unknown)(...args);
      },
    };

    await expect(journalOn(fs as FileSystem).open()).rejects.toMatchObject({
      name: 'JournalFailed',
      message: expect.stringContaining(remedy) as string,
      details: { path: `${DIRECTORY}/log`, operation: syscall, code },
    });
  });

  it('says so when it cannot be removed, or synced before an undo', async () => {
    const journal = await journalOn().begin('order', {});
    await journal.record(['/etc/new']);
    const unlink = async (): Promise<never> => Promise.reject(refusal('EPERM', 'unlink'));
    const broken = await journalOn({ ...NODE_FILE_SYSTEM, unlink }).open();

    await expect(broken?.undo()).resolves.toBe(false);
    await expect(broken?.close()).rejects.toMatchObject({
      name: 'JournalFailed',
      details: { path: `${DIRECTORY}/log`, operation: 'unlink', code: 'EPERM' },
    });
    expect(await journalOn().open()).toBeUndefined();
  });

  it('leaves errors of others as they are: no file system call has failed', async () => {
    const bug = new TypeError('x is not a function');
    const fs = {
      ...NODE_FILE_SYSTEM,
      readdirSync: () => {
        throw bug;
      },
    };
    mkdirSync(join(root, 'var/lib/slipway/journal'), { recursive: true });

    await expect(journalOn(fs as unknown as FileSystem).open()).rejects.toBe(bug);
  });
});
