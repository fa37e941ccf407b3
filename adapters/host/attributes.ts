/**
 * Extended attributes: SELinux labels, capabilities, ACLs. Node cannot read them: one process of
 * `getfattr` or `setfattr` serves many files.
 */

import { spawn } from 'node:child_process';
import { hasCode } from './root-paths';

/** Name → value in base64, as `security.selinux`. */
export type Attributes = Readonly<Record<string, string>>;

/** Works on open files, which other processes cannot swap. */
export interface AttributePort {
  /** In the order of the descriptors. */
  read(fds: readonly number[]): Promise<readonly Attributes[]>;
  /** False when this machine has no such program. */
  write(
    files: readonly { readonly fd: number; readonly attributes: Attributes }[],
  ): Promise<boolean>;
}

/** Hundreds of simulated machines would start too many processes. */
export const NO_ATTRIBUTES: AttributePort = {
  read: async (fds) => fds.map(() => ({})),
  write: async () => true,
};

/**
 * Without the package `attr` no file has attributes: a rewritten file gets the label of its
 * directory, and the caller relabels it.
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

/** These belong to the old content or restrict its readers: the config decides those. */
const OF_THE_CONTENT = ['security.capability', 'security.ima', 'security.evm'];

export function attributesKept(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).filter(
      ([name]) => !OF_THE_CONTENT.includes(name) && !name.startsWith('system.posix_acl_'),
    ),
  );
}

export function sameAttributes(a: Attributes, b: Attributes): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

/** The child has descriptors of its own; those of this process are below its process ID. */
function pathOf(fd: number): string {
  return `/proc/${process.pid}/fd/${fd}`;
}

function dumpOf(file: { readonly fd: number; readonly attributes: Attributes }): string {
  const lines = Object.entries(file.attributes).map(([name, value]) =>
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
    // The exit code of a program that ends early is enough.
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

/** A file system without attributes is no failure. */
function isUnsupported(told: string): boolean {
  const lines = told.trim().split('\n');
  return lines.every((line) => line.endsWith(': Operation not supported'));
}

/** A full disk: the undo then uses its reserved space. */
const FULL: Readonly<Record<string, string>> = {
  'No space left on device': 'ENOSPC',
  'Disk quota exceeded': 'EDQUOT',
};

/** Callers decide by the system's error code. */
function failureOf(program: string, line: string): Error {
  const error = new Error(`${program}: ${line}`);
  const code = Object.entries(FULL).find(([words]) => line.endsWith(`: ${words}`))?.[1];
  return code === undefined ? error : Object.assign(error, { code });
}

function lastLine(text: string, code: number | null): string {
  return text.trim().split('\n').at(-1) || `exit code ${code}`;
}
