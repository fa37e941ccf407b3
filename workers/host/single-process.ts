/** Allows one worker process per machine: two would undo each other's work. */

import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../core/errors';
import type { Logger } from '../../process/logging';

/** Valid for this boot. */
export const WORKER_LOCK = 'run/slipway/worker.lock';
const LOOK_AGAIN_MS = 1_000;

/** With its start, which distinguishes a later process with the same ID. */
interface Holder {
  readonly pid: number;
  readonly startedAt: string;
  readonly boot: string;
}

/**
 * Returns a function that releases the lock. The lock of a dead process does not count; a suspended
 * process keeps its lock, because it will go on. On a disk that takes no lock, work continues
 * without.
 *
 * @param file - the lock; its directory is made when it is missing
 * @throws the signal's reason when it aborts before
 */
export async function becomeOnlyWorker(
  file: string,
  { signal, log }: { readonly signal: AbortSignal; readonly log: Logger },
): Promise<() => void> {
  const mine = holderOf(process.pid);
  let isSaid = false;
  for (;;) {
    signal.throwIfAborted();
    const other = takePlaceIfPossible(file, mine, log);
    if (other === undefined) return () => leave(file, mine);
    if (!isSaid)
      log.warn({ file, pid: other.pid }, 'another host worker runs; waiting for its end');
    isSaid = true;
    await delay(LOOK_AGAIN_MS, undefined, { signal });
  }
}

function takePlaceIfPossible(file: string, mine: Holder, log: Logger): Holder | undefined {
  try {
    return takePlace(file, mine);
  } catch (error) {
    log.warn({ file, reason: messageOf(error) }, 'no lock against a second host worker');
    return undefined;
  }
}

/** @returns the holder; undefined = this process */
function takePlace(file: string, mine: Holder): Holder | undefined {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${mine.pid}`;
  writeFileSync(draft, JSON.stringify(mine), { mode: 0o600 });
  try {
    for (;;) {
      if (linked(draft, file)) return undefined;
      const found = readHolder(file);
      if (found !== undefined && isSame(found, mine)) return undefined;
      if (found !== undefined && isAlive(found)) return found;
      moveAway(file, found, `${draft}.left`);
    }
  } finally {
    rmSync(draft, { force: true });
  }
}

/** A hard link exists for all processes alike, and is never half written. */
function linked(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/**
 * Moves the lock of a dead process aside; puts it back if another process has taken it meanwhile.
 */
function moveAway(file: string, dead: Holder | undefined, aside: string): void {
  try {
    renameSync(file, aside);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  const moved = readHolder(aside);
  const isTheDead = moved === undefined || (dead !== undefined && isSame(moved, dead));
  if (!isTheDead) linked(aside, file);
  rmSync(aside, { force: true });
}

function leave(file: string, mine: Holder): void {
  const found = readHolder(file);
  if (found !== undefined && isSame(found, mine)) rmSync(file, { force: true });
}

/** Undefined = no lock of a worker. */
function readHolder(file: string): Holder | undefined {
  try {
    const { pid, startedAt, boot } = JSON.parse(readFileSync(file, 'utf8')) as Partial<Holder>;
    if (pid === undefined || startedAt === undefined || boot === undefined) return undefined;
    return { pid, startedAt, boot };
  } catch {
    return undefined;
  }
}

function isSame(a: Holder, b: Holder): boolean {
  return a.pid === b.pid && a.startedAt === b.startedAt && a.boot === b.boot;
}

function isAlive(holder: Holder): boolean {
  return isSame(holder, holderOf(holder.pid));
}

function holderOf(pid: number): Holder {
  return { pid, startedAt: startOf(pid), boot: read('/proc/sys/kernel/random/boot_id') };
}

/** In ticks since the boot; empty = the process is gone or a zombie. */
function startOf(pid: number): string {
  const stat = read(`/proc/${pid}/stat`);
  // The command, in brackets, may hold spaces and brackets itself.
  const [state = '', ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return state === 'Z' || state === 'X' ? '' : (fields[18] ?? '');
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
