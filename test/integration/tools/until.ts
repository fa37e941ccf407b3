import { setTimeout as delay } from 'node:timers/promises';

/** Resolves when a condition of a real server holds; fails with its name on timeout. */
export async function until(
  condition: () => Promise<boolean>,
  what: string,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`never so: ${what}`);
    await delay(50);
  }
}
