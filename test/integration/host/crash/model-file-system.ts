/** The file calls of a process on a `ModelDisk`: everything that `FileSystem`, owners and attributes need. */

import { constants as fsConstants } from 'node:fs';
import { constants } from 'node:os';
import type { AttributePort, FileSystem } from '../../../../adapters/host';
import type { Ownership } from '../../../../adapters/host/ownership';
import { type DirectoryInode, type Inode, type ModelDisk, ROOT_INODE } from './model-disk';

const O_PATH = 0o10000000;
const SECTOR = 512;
const MOST_LINKS = 40;

interface Open {
  readonly inode: number;
  readonly path: string;
  readonly appends: boolean;
  position: number;
}

interface Found {
  readonly inode: number;
  readonly path: string;
}

/** The place of a last component, which may not exist. */
interface Place {
  readonly parent: Found;
  readonly name: string;
  readonly found: Found | undefined;
}

export interface ModelProcess {
  readonly fs: FileSystem;
  readonly ownership: Ownership;
  readonly attributes: AttributePort;
}

/** A process on this disk; the disk outlives it. */
export function aProcess(disk: ModelDisk): ModelProcess {
  const open = new Map<number, Open>();
  let nextFd = 10;

  const openOf = (fd: number): Open => {
    const found = open.get(fd);
    if (found === undefined) throw systemError('EBADF', `fd ${fd}`);
    return found;
  };
  const directory = ({ inode, path }: Found): DirectoryInode => {
    const found = disk.inode(inode);
    if (found.kind !== 'directory') throw systemError('ENOTDIR', path);
    return found;
  };

  /** Resolves as the kernel does; `follow` = also a link at the end. */
  function locate(path: string, follow: boolean): Place {
    const { fd, parts } = wordsOf(path);
    const start: Found = fd === undefined ? { inode: ROOT_INODE, path: '/' } : openOf(fd);
    if (parts.length === 0) return { parent: start, name: '', found: start };
    let pending = parts;
    let at = start;
    let links = 0;
    for (let index = 0; ; index += 1) {
      const name = pending[index] ?? '';
      const number = directory(at).entries.get(name);
      const isLast = index >= pending.length - 1;
      if (number === undefined) {
        if (isLast) return { parent: at, name, found: undefined };
        throw systemError('ENOENT', path);
      }
      const inode = disk.inode(number);
      if (inode.kind === 'symlink' && (!isLast || follow)) {
        links += 1;
        if (links > MOST_LINKS) throw systemError('ELOOP', path);
        pending = [...partsOf(inode.target), ...pending.slice(index + 1)];
        index = -1;
        if (inode.target.startsWith('/')) at = { inode: ROOT_INODE, path: '/' };
        continue;
      }
      const next = { inode: number, path: join(at.path, name) };
      if (isLast) return { parent: at, name, found: next };
      at = next;
    }
  }

  function existing(path: string, follow: boolean): Found {
    const { found } = locate(path, follow);
    if (found === undefined) throw systemError('ENOENT', path);
    return found;
  }

  /** Reported before the change: the process may die there. */
  const told = (kind: string, path: string): void => disk.onOperation({ kind, path });

  function setEntry(parent: Found, name: string, inode: number | undefined): void {
    const entries = new Map(directory(parent).entries);
    if (inode === undefined) entries.delete(name);
    else entries.set(name, inode);
    disk.set(parent.inode, { ...directory(parent), entries });
  }

  function add(path: string, kind: string, inode: Inode): Found {
    const { parent, name, found } = locate(path, false);
    if (found !== undefined) throw systemError('EEXIST', path);
    const at = join(parent.path, name);
    told(kind, at);
    const number = disk.create(inode);
    setEntry(parent, name, number);
    return { inode: number, path: at };
  }

  function openFd(path: string, flags: number | string, mode = 0o666): number {
    const bits = typeof flags === 'number' ? flags : fsConstants.O_RDONLY;
    const has = (bit: number): boolean => (bits & bit) !== 0;
    const place = locate(path, !has(fsConstants.O_NOFOLLOW));
    let found = place.found;
    if (found === undefined) {
      if (!has(fsConstants.O_CREAT)) throw systemError('ENOENT', path);
      const owner = { uid: 0, gid: 0, attributes: {} };
      found = add(path, 'create', { kind: 'file', mode, data: Buffer.alloc(0), ...owner });
    } else if (has(fsConstants.O_EXCL)) throw systemError('EEXIST', path);
    const { kind } = disk.inode(found.inode);
    if (kind === 'symlink' && !has(O_PATH)) throw systemError('ELOOP', path);
    if (has(fsConstants.O_DIRECTORY) && kind !== 'directory') throw systemError('ENOTDIR', path);
    const fd = nextFd;
    nextFd += 1;
    open.set(fd, { ...found, appends: has(fsConstants.O_APPEND), position: 0 });
    return fd;
  }

  function fileOf({ inode, path }: Found) {
    const found = disk.inode(inode);
    if (found.kind !== 'file') throw systemError('EISDIR', path);
    return found;
  }

  /** In two parts, at a border of sectors: the process may die between them. */
  function write(at: Open, data: Buffer, offset: number): void {
    const first = Math.min(data.length, Math.max(0, SECTOR - (offset % SECTOR)));
    const half =
      data.length > SECTOR ? first + Math.floor((data.length >> 1) / SECTOR) * SECTOR : first;
    told('write', at.path);
    writePart(at, data.subarray(0, half), offset);
    if (half === data.length) return;
    told('write on', at.path);
    writePart(at, data.subarray(half), offset + half);
  }

  function writePart(at: Found, data: Buffer, offset: number): void {
    const file = fileOf(at);
    const end = Math.max(file.data.length, offset + data.length);
    const next = Buffer.alloc(end);
    file.data.copy(next);
    data.copy(next, offset);
    disk.set(at.inode, { ...file, data: next });
  }

  function statsOf(number: number) {
    const inode = disk.inode(number);
    const type = { file: 0o100000, directory: 0o040000, symlink: 0o120000 }[inode.kind];
    return {
      ino: number,
      dev: 1,
      mode: type | inode.mode,
      uid: inode.uid,
      gid: inode.gid,
      size: inode.kind === 'file' ? inode.data.length : 0,
      isFile: () => inode.kind === 'file',
      isDirectory: () => inode.kind === 'directory',
      isSymbolicLink: () => inode.kind === 'symlink',
    };
  }

  function handleOf(fd: number) {
    const at = openOf(fd);
    const change = (kind: string, changed: (inode: Inode) => Inode): void => {
      told(kind, at.path);
      disk.set(at.inode, changed(disk.inode(at.inode)));
    };
    const sync = async (): Promise<void> => {
      told('fsync', at.path);
      disk.sync(at.inode);
    };
    return {
      fd,
      stat: async () => statsOf(at.inode),
      read: async (into: Buffer, offset: number, length: number, from: number) => {
        const { data } = fileOf(at);
        return { bytesRead: data.copy(into, offset, from, Math.min(data.length, from + length)) };
      },
      writeFile: async (data: Buffer) => {
        const offset = at.appends ? fileOf(at).data.length : at.position;
        write(at, data, offset);
        at.position = offset + data.length;
      },
      write: async (data: Buffer, offset: number, length: number, to: number) => {
        write(at, data.subarray(offset, offset + length), to);
        return { bytesWritten: length };
      },
      chmod: async (mode: number) => change('chmod', (inode) => ({ ...inode, mode })),
      chown: async (uid: number, gid: number) =>
        change('chown', (inode) => ({ ...inode, uid, gid })),
      truncate: async (length: number) =>
        change('truncate', () => {
          const file = fileOf(at);
          const data = Buffer.alloc(length);
          file.data.copy(data);
          return { ...file, data };
        }),
      sync,
      datasync: sync,
      close: async () => void open.delete(fd),
    };
  }

  const fs = {
    accessSync: (path: string) => void existing(path, true),
    closeSync: (fd: number) => void open.delete(fd),
    fstatSync: (fd: number) => statsOf(openOf(fd).inode),
    lstatSync: (path: string, options?: { throwIfNoEntry?: boolean }) => {
      const { found } = locate(path, false);
      if (found !== undefined) return statsOf(found.inode);
      if (options?.throwIfNoEntry === false) return undefined;
      throw systemError('ENOENT', path);
    },
    openSync: openFd,
    readdirSync: (path: string) => [...directory(existing(path, true)).entries.keys()],
    readFileSync: (fd: number) => Buffer.from(fileOf(openOf(fd)).data),
    readlinkSync: (path: string) => {
      const magic = /^\/proc\/self\/fd\/(\d+)$/.exec(path);
      if (magic !== null) return openOf(Number(magic[1])).path;
      const inode = disk.inode(existing(path, false).inode);
      if (inode.kind !== 'symlink') throw systemError('EINVAL', path);
      return inode.target;
    },
    readSync: () => {
      throw new Error('not needed here');
    },
    realpathSync: (path: string) => existing(path, true).path,
    statfsSync: () => ({ bavail: 1 << 20, blocks: 1 << 21, bsize: 4096 }),
    async mkdir(path: string, { mode }: { mode: number }) {
      const owner = { uid: 0, gid: 0, attributes: {} };
      add(path, 'mkdir', { kind: 'directory', mode, entries: new Map(), ...owner });
    },
    open: async (path: string, flags: number | string, mode?: number) =>
      handleOf(openFd(path, flags, mode)),
    async rename(from: string, to: string) {
      const source = locate(from, false);
      const target = locate(to, false);
      if (source.found === undefined) throw systemError('ENOENT', from);
      const isDirectory = target.found && disk.inode(target.found.inode).kind === 'directory';
      if (isDirectory === true) throw systemError('EISDIR', to);
      told('rename', join(target.parent.path, target.name));
      setEntry(source.parent, source.name, undefined);
      setEntry(target.parent, target.name, source.found.inode);
    },
    async rmdir(path: string) {
      const { parent, name, found } = locate(path, false);
      if (found === undefined) throw systemError('ENOENT', path);
      if (directory(found).entries.size > 0) throw systemError('ENOTEMPTY', path);
      told('rmdir', found.path);
      setEntry(parent, name, undefined);
    },
    async symlink(target: string, path: string) {
      const owner = { uid: 0, gid: 0, attributes: {} };
      add(path, 'symlink', { kind: 'symlink', mode: 0o777, target, ...owner });
    },
    async unlink(path: string) {
      const { parent, name, found } = locate(path, false);
      if (found === undefined) throw systemError('ENOENT', path);
      if (disk.inode(found.inode).kind === 'directory') throw systemError('EISDIR', path);
      told('unlink', found.path);
      setEntry(parent, name, undefined);
    },
  };

  return {
    // Only the overloads of Node's functions that are used.
    fs: fs as unknown as FileSystem,
    ownership: {
      of: (_path, { uid, gid }) => ({ uid, gid }),
      async set(_path, handle, wanted) {
        const { uid, gid } = await handle.stat();
        if (uid !== wanted.uid || gid !== wanted.gid) await handle.chown(wanted.uid, wanted.gid);
      },
    },
    attributes: {
      read: async (fds) => fds.map((fd) => disk.inode(openOf(fd).inode).attributes),
      async write(files) {
        for (const { fd, attributes } of files) {
          const { inode, path } = openOf(fd);
          for (const [name, value] of Object.entries(attributes)) {
            told('setxattr', path);
            const before = disk.inode(inode);
            disk.set(inode, { ...before, attributes: { ...before.attributes, [name]: value } });
          }
        }
        return true;
      },
    },
  };
}

interface Words {
  /** For a path below an open directory. */
  readonly fd: number | undefined;
  readonly parts: readonly string[];
}

/** A cache: the same few hundred paths occur millions of times. */
const words = new Map<string, Words>();

function wordsOf(path: string): Words {
  const known = words.get(path);
  if (known !== undefined) return known;
  const magic = /^\/proc\/self\/fd\/(\d+)(?:\/(.*))?$/.exec(path);
  const fd = magic === null ? undefined : Number(magic[1]);
  const made = { fd, parts: partsOf(magic === null ? path : (magic[2] ?? '')) };
  words.set(path, made);
  return made;
}

function partsOf(path: string): readonly string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

function join(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`;
}

function systemError(code: keyof typeof constants.errno, path: string): Error {
  const errno = -constants.errno[code];
  // Without a stack trace, which is slow: it is thrown some hundred times in each of some thousand runs.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return Object.assign(new Error(`${code}: ${path}`), { code, errno, path });
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
