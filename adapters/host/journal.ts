/**
 * The undo journal of a host: before a path is changed, what was there is written down and synced.
 * Undo puts everything back, newest first; it may be repeated, and a crash at any byte of it or of
 * the update leaves a journal from which it can be done again.
 */

import { posix } from 'node:path';
import { fail } from '../../core/errors';
import type { HostFiles } from './files';
import {
  type BeforeImage,
  encodeEntry,
  FIRST_CHECKSUM,
  type ReadLog,
  readLog,
} from './journal-log';
import type { PathState } from './types';

/** Where journals live: one directory per unfinished update. */
export const JOURNAL_DIRECTORY = '/var/lib/slipway/journal';

const ROOT_OWNER = { uid: 0, gid: 0 } as const;

/** The journal of an update that is not finished. */
export interface OpenJournal<Header, Mark> {
  readonly header: Header;
  /** What came about so far, in order. */
  marks(): readonly Mark[];
  /**
   * Writes down what is at these paths, and which of their parent directories are missing, with one
   * sync. A path that is in the journal already keeps its first before-image.
   */
  record(paths: readonly string[]): Promise<void>;
  /** Adds a mark, durably. */
  mark(mark: Mark): Promise<void>;
  /** Puts every path back. Safe to repeat. @throws `RollbackFailed` naming the path */
  undo(): Promise<void>;
  /** Drops the journal with its before-images: the update is finished, or is undone. */
  close(): Promise<void>;
}

export interface Journal<Header, Mark> {
  /**
   * The journal of the unfinished update, if there is one.
   *
   * @throws `RollbackFailed` when it is damaged; nothing is changed then
   */
  open(): Promise<OpenJournal<Header, Mark> | undefined>;
  /** Starts a journal; there must not be one. `name` is free text, for people. */
  begin(name: string, header: Header): Promise<OpenJournal<Header, Mark>>;
}

/** The journal of the host behind `files`. Headers and marks are plain JSON. */
export function createJournal<Header, Mark>(files: HostFiles): Journal<Header, Mark> {
  return {
    async open() {
      const names = await files.list(JOURNAL_DIRECTORY);
      const found: { directory: string; log: ReadLog }[] = [];
      for (const name of names) {
        const directory = posix.join(JOURNAL_DIRECTORY, name);
        const log = await readJournal(files, directory);
        if (log === undefined) await dropJournal(files, directory);
        else found.push({ directory, log });
      }
      const [first, second] = found;
      if (second !== undefined) throw damaged(second.directory, 'there is another open journal');
      return first === undefined ? undefined : openJournal<Header, Mark>({ files, ...first });
    },
    async begin(name, header) {
      const directory = posix.join(JOURNAL_DIRECTORY, directoryName(name));
      await makeDirectories(files, directory);
      const { line } = encodeEntry({ type: 'begin', header }, FIRST_CHECKSUM);
      await files.append(logPath(directory), Buffer.from(line));
      const log = await readJournal(files, directory);
      if (log === undefined) throw damaged(directory, 'it was not written');
      return openJournal<Header, Mark>({ files, directory, log });
    },
  };
}

function openJournal<Header, Mark>(input: {
  files: HostFiles;
  directory: string;
  log: ReadLog;
}): OpenJournal<Header, Mark> {
  const { files, directory } = input;
  const begin = input.log.entries[0];
  if (begin?.type !== 'begin') throw damaged(directory, 'it has no first entry');
  const before = new Map<string, BeforeImage>();
  const marks: Mark[] = [];
  for (const entry of input.log.entries) {
    if (entry.type === 'before') before.set(entry.path, entry.image);
    // Marks and headers are what this module's callers wrote, proven by the checksum.
    if (entry.type === 'mark') marks.push(entry.mark as Mark);
  }
  let { checksum, length, torn } = input.log;

  async function append(entries: readonly Parameters<typeof encodeEntry>[0][]): Promise<void> {
    let lines = '';
    let next = checksum;
    for (const entry of entries) {
      const encoded = encodeEntry(entry, next);
      lines += encoded.line;
      next = encoded.checksum;
    }
    const data = Buffer.from(lines);
    // A torn end of an earlier append would sit in the middle of the log from now on.
    if (torn) await files.truncate(logPath(directory), length);
    torn = true;
    await files.append(logPath(directory), data);
    torn = false;
    checksum = next;
    length += data.length;
  }

  return {
    header: begin.header as Header,
    marks: () => marks,
    async record(paths) {
      const images = new Map<string, BeforeImage>();
      for (const path of paths) {
        for (const part of [...(await missingParents(files, path)), path]) {
          if (before.has(part) || images.has(part)) continue;
          images.set(part, imageOf(part, await files.look(part)));
        }
      }
      if (images.size === 0) return;
      await append([...images].map(([path, image]) => ({ type: 'before', path, image })));
      for (const [path, image] of images) before.set(path, image);
    },
    async mark(mark) {
      await append([{ type: 'mark', mark }]);
      marks.push(mark);
    },
    async undo() {
      for (const [path, image] of [...before].reverse()) {
        try {
          await restore(files, path, image);
        } catch (error) {
          throw Object.assign(
            fail('RollbackFailed', `put back ${path}: ${textOf(error)}`, { path }),
            {
              cause: error,
            },
          );
        }
      }
    },
    close: () => dropJournal(files, directory),
  };
}

/** The log in a directory; undefined when no change can have been made under it. */
async function readJournal(files: HostFiles, directory: string): Promise<ReadLog | undefined> {
  const state = await files.look(logPath(directory));
  if (state.kind === 'absent') return undefined;
  if (state.kind !== 'file') throw damaged(directory, 'its log is not a file');
  const log = readLog(state.content);
  if ('fault' in log) throw damaged(directory, log.fault);
  return log.entries.length === 0 ? undefined : log;
}

async function dropJournal(files: HostFiles, directory: string): Promise<void> {
  await files.remove(logPath(directory));
  await files.removeDirectory(directory);
}

async function restore(files: HostFiles, path: string, image: BeforeImage): Promise<void> {
  if (image.kind !== 'directory') await files.sweep(path);
  const now = await files.look(path);
  switch (image.kind) {
    case 'absent':
      if (now.kind === 'directory') await files.removeDirectory(path);
      else await files.remove(path);
      return;
    case 'symlink':
      if (now.kind === 'symlink' && now.target === image.target) return;
      await files.writeLink(path, image.target);
      return;
    case 'file': {
      const wanted = {
        content: Buffer.from(image.content, 'base64'),
        mode: image.mode,
        owner: { uid: image.uid, gid: image.gid },
      };
      if (now.kind === 'file' && sameFile(now, wanted)) return;
      await files.writeFile(path, wanted);
      return;
    }
    case 'directory':
      return;
  }
}

type FileLike = Pick<Extract<PathState, { kind: 'file' }>, 'content' | 'mode' | 'owner'>;

function sameFile(a: FileLike, b: FileLike): boolean {
  return (
    a.mode === b.mode &&
    a.owner.uid === b.owner.uid &&
    a.owner.gid === b.owner.gid &&
    a.content.equals(b.content)
  );
}

function imageOf(path: string, state: PathState): BeforeImage {
  switch (state.kind) {
    case 'absent':
      return { kind: 'absent' };
    case 'symlink':
      return { kind: 'symlink', target: state.target };
    case 'directory':
      return { kind: 'directory' };
    case 'file':
      return {
        kind: 'file',
        content: state.content.toString('base64'),
        mode: state.mode,
        uid: state.owner.uid,
        gid: state.owner.gid,
      };
    case 'other':
      throw fail('ApplyFailed', `change ${path}: it is a device, a socket or a pipe`, { path });
  }
}

/** Parents that do not exist, outermost first. */
async function missingParents(files: HostFiles, path: string): Promise<readonly string[]> {
  const missing: string[] = [];
  for (let parent = posix.dirname(path); parent !== '/'; parent = posix.dirname(parent)) {
    if ((await files.look(parent)).kind !== 'absent') break;
    missing.unshift(parent);
  }
  return missing;
}

/** Makes the directories that lead to the journal, for root alone. */
async function makeDirectories(files: HostFiles, directory: string): Promise<void> {
  for (const path of [...(await missingParents(files, directory)), directory]) {
    const mode = path.startsWith('/var/lib/slipway') ? 0o700 : 0o755;
    await files.makeDirectory(path, { mode, owner: ROOT_OWNER });
  }
}

function logPath(directory: string): string {
  return posix.join(directory, 'log');
}

/** A directory name a person recognises the order by. */
function directoryName(name: string): string {
  return name.replace(/[^A-Za-z0-9._-]+/g, '_').slice(0, 200) || 'order';
}

function damaged(directory: string, why: string): Error {
  return fail('RollbackFailed', `read journal ${directory}: ${why}; nothing was changed`, {
    directory,
  });
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
