/**
 * The undo journal of a host: the before-image of a path is written and synced before the path
 * changes. Undo puts everything back, newest first, and can be repeated after a crash at any byte.
 */

import { posix } from 'node:path';
import { fail, failureName, messageOf } from '../../core/errors';
import { laterVersion } from '../../core/later-version';
import { differing, keptDirectories, takeImages } from './before-images';
import type { HostFiles } from './files';
import {
  directoryFor,
  dropJournal,
  giveUpReserve,
  JOURNAL_DIRECTORY,
  logPath,
  makeDirectories,
  packPath,
  sealPath,
} from './journal-directory';
import { hostPathOf, journalFailure, onJournal, systemCode } from './journal-failure';
import {
  type BeforeImage,
  encodeEntry,
  FIRST_CHECKSUM,
  type ParentImage,
  type ReadLog,
  readLog,
} from './journal-log';
import { encodeSeal, readSeal, type Seal, SEAL_BYTES } from './journal-seal';
import { hasCode } from './root-paths';
import { putBack } from './put-back';
import { roomBeside, roomFor, takeRoom } from './undo-room';

/** Of the log, its entries, and the headers and marks in them. */
const JOURNAL_VERSION = 1;

/** A file system may store zeros without using space. */
const RESERVE = Buffer.alloc(64 * 1024, 'slipway ');

export interface OpenJournal<Header, Mark> {
  readonly header: Header;
  marks(): readonly Mark[];
  /**
   * With one sync: present state, missing parent directories, and the attributes of the others. A
   * path keeps its first before-image.
   *
   * @param entryOf - path → account: in such a file only the entry of that account changes and is
   *   put back
   */
  record(paths: readonly string[], entryOf?: Readonly<Record<string, string>>): Promise<void>;
  /** Adds a mark durably. */
  mark(mark: Mark): Promise<void>;
  /**
   * Changes nothing.
   *
   * @throws `RollbackFailed` naming the path
   */
  differing(): Promise<readonly string[]>;
  /**
   * Safe to repeat.
   *
   * @returns whether anything differed
   * @throws `RollbackFailed` naming the path
   */
  undo(): Promise<boolean>;
  /** The undo leaves directories with entries of other programs. */
  kept(): Promise<readonly string[]>;
  /** The update is finished or undone. */
  close(): Promise<void>;
}

/** Disk errors of the journal itself are `JournalFailed`. */
export interface Journal<Header, Mark> {
  /** @throws `RollbackFailed` when the journal is damaged; nothing is changed then */
  open(): Promise<OpenJournal<Header, Mark> | undefined>;
  /** None may be open. People read `name`. */
  begin(name: string, header: Header): Promise<OpenJournal<Header, Mark>>;
}

/** Headers and marks are plain JSON. */
export function createJournal<Header, Mark>(files: HostFiles): Journal<Header, Mark> {
  return {
    async open() {
      const found = await onJournal(JOURNAL_DIRECTORY, () => readAll(files));
      const [first, second] = found;
      if (second !== undefined) throw damaged(second.directory, 'there is another open journal');
      return first === undefined ? undefined : openJournal<Header, Mark>({ files, ...first });
    },
    async begin(name, header) {
      const directory = directoryFor(name);
      try {
        await makeDirectories(files, directory);
        await files.append(sealPath(directory), unsealed());
        const { line, checksum } = encodeEntry(
          { type: 'begin', version: JOURNAL_VERSION, header },
          FIRST_CHECKSUM,
        );
        await files.append(logPath(directory), Buffer.from(line));
        const length = Buffer.byteLength(line);
        await writeSeal(files, directory, { count: 1, length, checksum, isClosed: false });
      } catch (error) {
        throw await abandoned(files, directory, error);
      }
      const read = await onJournal(directory, () => readJournal(files, directory));
      if (read === undefined) throw damaged(directory, 'it was not written');
      return openJournal<Header, Mark>({ files, directory, ...read });
    },
  };
}

/** Drops the remains of journals that are not open. */
async function readAll(files: HostFiles): Promise<({ directory: string } & ReadJournal)[]> {
  const found: ({ directory: string } & ReadJournal)[] = [];
  for (const name of await files.list(JOURNAL_DIRECTORY)) {
    const directory = posix.join(JOURNAL_DIRECTORY, name);
    const read = await readJournal(files, directory);
    if (read === undefined) await dropJournal(files, directory);
    else found.push({ directory, ...read });
  }
  return found;
}

interface ReadJournal {
  readonly log: ReadLog;
  readonly seal: Seal;
}

function openJournal<Header, Mark>(
  input: { readonly files: HostFiles; readonly directory: string } & ReadJournal,
): OpenJournal<Header, Mark> {
  const { files, directory } = input;
  const begin = input.log.entries[0];
  if (begin?.type !== 'begin') throw damaged(directory, 'it has no first entry');
  const before = new Map<string, BeforeImage>();
  const parents = new Map<string, ParentImage>();
  const rooms = new Set<string>();
  const marks: Mark[] = [];
  for (const entry of input.log.entries) {
    if (entry.type === 'before') before.set(entry.path, entry.image);
    if (entry.type === 'parent') parents.set(entry.path, entry.image);
    if (entry.type === 'room') rooms.add(entry.path);
    // The checksum verifies that callers wrote it.
    if (entry.type === 'mark') marks.push(entry.mark as Mark);
  }
  let { checksum, length, torn } = input.log;
  let { seal } = input;

  /** A later loss of entries is then damage. */
  async function sealAll(isClosed = false): Promise<void> {
    // A process that died in `begin` may have left a log whose name is not durable.
    if (seal.length === 0) await files.syncDirectories([directory]);
    const next = { count: seal.count + 1, length, checksum, isClosed };
    await writeSeal(files, directory, next);
    seal = next;
  }

  /** A process may have died between write and sync. */
  async function sealUnsynced(): Promise<void> {
    if (seal.length >= length) return;
    await files.syncFile(logPath(directory));
    await sealAll();
  }

  async function append(entries: readonly Parameters<typeof encodeEntry>[0][]): Promise<void> {
    let lines = '';
    let next = checksum;
    for (const entry of entries) {
      const encoded = encodeEntry(entry, next);
      lines += encoded.line;
      next = encoded.checksum;
    }
    const data = Buffer.from(lines);
    // A torn end would stay in the middle of the log.
    if (torn) await files.truncate(logPath(directory), length);
    torn = true;
    await appendInReserve(data);
    torn = false;
    checksum = next;
    length += data.length;
    await sealAll();
  }

  /** On a full disk, frees the reserve, so that the undo can record its progress. */
  async function appendInReserve(data: Buffer): Promise<void> {
    try {
      await files.append(logPath(directory), data);
    } catch (error) {
      if (!hasCode(error, 'ENOSPC', 'EDQUOT')) throw error;
      await files.truncate(logPath(directory), length);
      await giveUpReserve(files, directory);
      await files.append(logPath(directory), data);
    }
  }

  /** On a full disk, frees the reserved space for the before-images. */
  async function putBackInReserve(): Promise<boolean> {
    const pack = packPath(directory);
    try {
      return await putBack(files, pack, { images: before, parents });
    } catch (error) {
      if (!hasCode(error, 'ENOSPC', 'EDQUOT')) throw error;
      await giveUpRooms();
      await putBack(files, pack, { images: before, parents }, { oneByOne: true });
      return true;
    }
  }

  async function giveUpRooms(): Promise<void> {
    await files.change([...rooms].map((path) => ({ path, state: { kind: 'absent' } })));
  }

  return {
    header: begin.header as Header,
    marks: () => marks,
    async record(paths, entryOf) {
      try {
        const isKnown = (path: string) => before.has(path);
        // The undo removes a directory that the update creates.
        const isCreated = (path: string) => before.get(path)?.kind === 'absent';
        const isKnownParent = (path: string) => parents.has(path) || isCreated(path);
        const options = { isKnown, isKnownParent, ...(entryOf === undefined ? {} : { entryOf }) };
        const taken = await takeImages(files, packPath(directory), paths, options);
        const { images } = taken;
        if (images.size === 0) return;
        const places = await roomFor(files, directory, images);
        await append([
          ...[...places.keys()].map((path) => ({ type: 'room', path }) as const),
          ...[...taken.parents].map(([path, image]) => ({ type: 'parent', path, image }) as const),
          ...[...images].map(([path, image]) => ({ type: 'before', path, image }) as const),
        ]);
        for (const [path, bytes] of places) {
          rooms.add(path);
          await takeRoom(files, path, bytes);
        }
        for (const [path, image] of taken.parents) parents.set(path, image);
        for (const [path, image] of images) before.set(path, image);
      } catch (error) {
        throw unwritten(directory, error);
      }
    },
    async mark(mark) {
      await onJournal(directory, () => append([{ type: 'mark', mark }]));
      marks.push(mark);
    },
    async differing() {
      return differing(files, packPath(directory), before).catch((error: unknown) => {
        throw notPutBack(directory, error);
      });
    },
    async undo() {
      await onJournal(directory, sealUnsynced);
      const hasChanged = await putBackInReserve().catch((error: unknown) => {
        throw notPutBack(directory, error);
      });
      await onJournal(directory, giveUpRooms);
      return hasChanged;
    },
    async kept() {
      return keptDirectories(files, before);
    },
    async close() {
      await onJournal(directory, async () => {
        await giveUpRooms();
        await sealAll(true);
        await dropJournal(files, directory);
      });
    },
  };
}

/** Undefined when no change was made under the log, or it is over. */
async function readJournal(files: HostFiles, directory: string): Promise<ReadJournal | undefined> {
  const sealed = await files.start(sealPath(directory), SEAL_BYTES);
  const seal = sealed === undefined ? undefined : readSeal(sealed);
  if (seal === undefined) return refuseUnsealed(files, directory);
  if (seal.isClosed) return undefined;
  const log = await readLogIn(files, directory, seal);
  if (log === undefined && seal.length > 0) throw damaged(directory, 'it is gone');
  return log === undefined || log.entries.length === 0 ? undefined : { log, seal };
}

/** Without a seal, a journal is unbegun, almost dropped, or damaged. */
async function refuseUnsealed(files: HostFiles, directory: string): Promise<undefined> {
  const log = await readLogIn(files, directory);
  const [begin] = log?.entries ?? [];
  const isThere = async (path: string) => (await files.facts(path)).kind !== 'absent';
  const hasSeal = await isThere(sealPath(directory));
  const isUsed = (await isThere(packPath(directory))) || (await isThere(roomBeside(directory)));
  // The seal is durable before there is a log, and is removed last. So a crash leaves an unreadable
  // seal alone, or an unreadable log without a seal; neither has before-images.
  if (log === undefined && !(hasSeal && isUsed)) return undefined;
  if (log !== undefined && begin === undefined && !hasSeal && !isUsed) return undefined;
  const its = `its seal, ${sealPath(directory)}, is damaged or gone`;
  if (log === undefined) throw damaged(directory, `it is gone, and ${its}`);
  throw damaged(directory, begin === undefined ? `it has no whole first entry, and ${its}` : its);
}

async function readLogIn(
  files: HostFiles,
  directory: string,
  seal?: Seal,
): Promise<ReadLog | undefined> {
  const state = await files.look(logPath(directory));
  if (state.kind === 'absent') return undefined;
  if (state.kind !== 'file') throw damaged(directory, 'it is not a file');
  const log = readLog(state.content, seal);
  if ('fault' in log) throw damaged(directory, log.fault);
  refuseLater(directory, log);
  return log;
}

/** A later version may give the same fields another meaning. */
function refuseLater(directory: string, { entries: [begin] }: ReadLog): void {
  if (begin?.type !== 'begin') return;
  const path = logPath(directory);
  const remedy = 'run that one again until its update has ended; nothing was changed';
  const found = { what: `journal ${path}`, version: begin.version, remedy };
  const later = laterVersion(found, JOURNAL_VERSION);
  if (later !== undefined) throw fail('RollbackFailed', later, { path, directory });
}

/** A seal of an empty log, with space to free on a full disk. */
function unsealed(): Buffer {
  const { bytes } = encodeSeal({ count: 0, length: 0, checksum: '', isClosed: false });
  return Buffer.concat([bytes, RESERVE]);
}

async function writeSeal(files: HostFiles, directory: string, seal: Seal): Promise<void> {
  const { offset, bytes } = encodeSeal(seal);
  await files.overwrite(sealPath(directory), offset, bytes);
}

/** A partial undo is worse than none. */
function damaged(directory: string, why: string): Error {
  const path = logPath(directory);
  return fail(
    'RollbackFailed',
    `read journal ${path}: ${why}; nothing was changed; ` +
      `put the machine on one of its two configs by hand, then move ${directory} away`,
    { path, directory },
  );
}

/** As far as the disk allows. */
async function abandoned(files: HostFiles, directory: string, error: unknown): Promise<unknown> {
  // The next read of the journals drops the remains.
  await sealAbandoned(files, directory).catch(() => undefined);
  await dropJournal(files, directory).catch(() => undefined);
  return journalFailure(directory, error);
}

/** A missing sealed log is damage, so the seal is closed first. */
async function sealAbandoned(files: HostFiles, directory: string): Promise<void> {
  if ((await files.facts(sealPath(directory))).kind === 'absent') return;
  await writeSeal(files, directory, { count: 2, length: 0, checksum: '', isClosed: true });
}

/** The disk refuses the journal, or refuses to read what it should record. */
function unwritten(directory: string, error: unknown): unknown {
  const path = hostPathOf(error);
  if (path === undefined || path.startsWith(`${directory}/`))
    return journalFailure(directory, error);
  if (failureName(error) !== undefined || systemCode(error) === undefined) return error;
  const text = `record what is there before the change: ${messageOf(error)}`;
  return Object.assign(fail('ApplyFailed', text, { path }), { cause: error });
}

function notPutBack(directory: string, error: unknown): unknown {
  if (failureName(error) === 'RollbackFailed') return error;
  const path = hostPathOf(error) ?? directory;
  return Object.assign(fail('RollbackFailed', `put back ${messageOf(error)}`, { path }), {
    cause: error,
  });
}
