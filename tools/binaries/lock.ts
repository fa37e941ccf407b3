import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning, startTimeOf } from '../processes/identity';

interface LockHolder {
  readonly pid: number;
  readonly startTime: string;
  readonly host: string;
  /** Shown to waiting processes. */
  readonly doing: string;
  /** Distinguishes two holds of one process. */
  readonly nonce: string;
}

const CHECK_MS = 100;

/**
 * Waits for a running holder; takes the lock over from a dead one.
 *
 * The lock file appears with its content in one step (a hard link). The file of a dead holder is
 * removed only under a second lock, named after that hold: of two processes that notice the death,
 * neither can remove the new lock of a third.
 *
 * @param onWait - called once with the holder, when there is one to wait for
 */
export async function withLock<T>(
  path: string,
  doing: string,
  work: () => Promise<T>,
  onWait: (holder: LockHolder) => void = () => undefined,
): Promise<T> {
  const mine = await acquire(path, doing, onWait);
  try {
    return await work();
  } finally {
    await release(path, mine);
  }
}

async function acquire(
  path: string,
  doing: string,
  onWait: (holder: LockHolder) => void,
): Promise<LockHolder> {
  const mine = describeSelf(doing);
  await mkdir(dirname(path), { recursive: true });
  let reported: string | undefined;
  for (;;) {
    if (await create(path, mine)) return mine;
    const holder = await readHolder(path);
    if (holder === undefined) continue; // released in between
    if (isAlive(holder)) {
      if (reported !== holder.nonce) onWait(holder);
      reported = holder.nonce;
      await delay(CHECK_MS);
    } else {
      await removeDeadHold(path, holder);
    }
  }
}

function describeSelf(doing: string): LockHolder {
  const startTime = startTimeOf(process.pid) ?? 'unknown';
  return { pid: process.pid, startTime, host: hostname(), doing, nonce: randomUUID() };
}

async function create(path: string, holder: LockHolder): Promise<boolean> {
  const draft = `${path}.draft-${holder.nonce}`;
  await writeFile(draft, JSON.stringify(holder));
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

async function readHolder(path: string): Promise<LockHolder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as LockHolder;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new Error(`lock ${path} cannot be read; delete it if nothing runs`, { cause: error });
  }
}

/** A holder on another machine (a shared home directory) counts as alive. */
function isAlive(holder: LockHolder): boolean {
  return holder.host !== hostname() || isRunning(holder.pid, holder.startTime);
}

async function removeDeadHold(path: string, dead: LockHolder): Promise<void> {
  const removal = `${path}.after-${dead.nonce}`;
  await withLock(removal, 'taking over a lock', async () => {
    if ((await readHolder(path))?.nonce === dead.nonce) await rm(path);
  });
}

async function release(path: string, mine: LockHolder): Promise<void> {
  if ((await readHolder(path))?.nonce === mine.nonce) await rm(path, { force: true });
}

function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
