/**
 * Extended attributes of files: SELinux label, capabilities, access lists and whatever else a file
 * system keeps beside the mode. Node cannot read them; the programs `getfattr` and `setfattr` can, and
 * are asked once for many files.
 */

import { spawn } from 'node:child_process';
import { hasCode } from './root-paths';

/** Name → value in base64, as `security.selinux`. Empty = none, or the file system knows none. */
export type Attributes = Readonly<Record<string, string>>;

/** Reads and writes attributes of open files, which other processes cannot swap. */
export interface AttributePort {
  /** In the order of the descriptors. */
  read(fds: readonly number[]): Promise<readonly Attributes[]>;
  /** False = this machine has no program for it: nothing was written. */
  write(
    files: readonly { readonly fd: number; readonly attributes: Attributes }[],
  ): Promise<boolean>;
}

/** For simulated machines: hundreds of them have better things to do than starting processes. */
export const NO_ATTRIBUTES: AttributePort = {
  read: async (fds) => fds.map(() => ({})),
  write: async () => true,
};

/**
 * The attributes on disk. On a machine without these programs (package `attr`) no file has attributes:
 * a rewritten one then gets the label of its directory, which whoever writes it has to correct.
 */
export function createAttributes(
  programs: { readonly get: string; readonly set: string } = { get: 'getfattr', set: 'setfattr' },
): AttributePort {
  return {
    async read(fds) {
      if (fds.length === 0) return [];
      const words = ['--dump', '--match=-', '--encoding=base64', '--absolute-names', '--'];
      const text = await run(programs.get, [...words, ...fds.map(pathOf)], '');
      const found = text === undefined ? new Map<string, Attributes>() : parseDump(text);
      return fds.map((fd) => found.get(pathOf(fd)) ?? {});
    },
    async write(files) {
      const withSome = files.filter(({ attributes }) => Object.keys(attributes).length > 0);
      if (withSome.length === 0) return true;
      const told = await run(programs.set, ['--restore=-'], withSome.map(dumpOf).join('\n'));
      return told !== undefined;
    },
  };
}

/** Attributes that belong to the old content, or say who may read it: the config decides that. */
const OF_THE_CONTENT = ['security.capability', 'security.ima', 'security.evm'];

/** What of a file's attributes stays when its content is another. */
export function attributesKept(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).filter(
      ([name]) => !OF_THE_CONTENT.includes(name) && !name.startsWith('system.posix_acl_'),
    ),
  );
}

/** Whether two files have the same attributes. */
export function sameAttributes(a: Attributes, b: Attributes): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** The child has descriptors of its own; this process's are found below its number. */
function pathOf(fd: number): string {
  return `/proc/${process.pid}/fd/${fd}`;
}

function dumpOf(file: { readonly fd: number; readonly attributes: Attributes }): string {
  const lines = Object.entries(file.attributes).map(([name, value]) =>
    // An empty value has no encoding.
    value === '' ? `${name}\n` : `${name}=0s${value}\n`,
  );
  return `# file: ${pathOf(file.fd)}\n${lines.join('')}`;
}

function parseDump(text: string): ReadonlyMap<string, Attributes> {
  const found = new Map<string, Record<string, string>>();
  let current: Record<string, string> = {};
  for (const line of text.split('\n')) {
    if (line.startsWith('# file: ')) {
      current = {};
      found.set(line.slice('# file: '.length), current);
      continue;
    }
    const equals = line.indexOf('=');
    const value = equals === -1 ? '' : line.slice(equals + 1);
    // An attribute without a value has no equals sign.
    if (line !== '') current[equals === -1 ? line : line.slice(0, equals)] = value.slice(2);
  }
  return found;
}

/** What the program printed; undefined when the machine has no such program. */
function run(
  program: string,
  words: readonly string[],
  input: string,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, LC_ALL: 'C' };
    const child = spawn(program, [...words], { stdio: ['pipe', 'pipe', 'pipe'], env });
    const [out, errors]: [Buffer[], Buffer[]] = [[], []];
    child.stdout.on('data', (piece: Buffer) => out.push(piece));
    child.stderr.on('data', (piece: Buffer) => errors.push(piece));
    // A program that ends before it has read everything says why by its exit code.
    child.stdin.on('error', () => undefined);
    child.on('error', (error) => (hasCode(error, 'ENOENT') ? resolve(undefined) : reject(error)));
    child.on('close', (code) => {
      const told = Buffer.concat(errors).toString('utf8');
      if (code === 0 || isUnsupported(told)) resolve(Buffer.concat(out).toString('utf8'));
      else reject(failureOf(program, lastLine(told, code)));
    });
    child.stdin.end(input);
  });
}

/** A copy on a file system that knows no attributes has none, and that is all there is to say. */
function isUnsupported(told: string): boolean {
  const lines = told.trim().split('\n');
  return lines.every((line) => line.endsWith(': Operation not supported'));
}

/** What the system says of a disk without room; a way back then takes that which was kept for it. */
const FULL: Readonly<Record<string, string>> = {
  'No space left on device': 'ENOSPC',
  'Disk quota exceeded': 'EDQUOT',
};

/** With the code of the system, where whoever hears of it has to know. */
function failureOf(program: string, line: string): Error {
  const error = new Error(`${program}: ${line}`);
  const code = Object.entries(FULL).find(([words]) => line.endsWith(`: ${words}`))?.[1];
  return code === undefined ? error : Object.assign(error, { code });
}

function lastLine(text: string, code: number | null): string {
  return text.trim().split('\n').at(-1) || `exit code ${code}`;
}
