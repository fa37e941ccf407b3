import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { startTimeOf } from '../../../tools/processes/identity';

const LIMIT_MS = 30_000;

/** The process ID in a file, once the file exists. */
export async function appearance(path: string): Promise<number> {
  await until(() => existsSync(path), `${path} appears`);
  return Number(readFileSync(path, 'utf8'));
}

export async function gone(pid: number): Promise<void> {
  await until(() => startTimeOf(pid) === undefined, `process ${pid} ends`);
}

export async function removed(path: string): Promise<void> {
  await until(() => !existsSync(path), `${path} is removed`);
}

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`never so: ${what}`);
    await delay(20);
  }
}
