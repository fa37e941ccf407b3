/** `npm test` takes a sample of long lists. The commit draws it, so that a commit always takes the same. */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { repositoryRoot } from '../../tools/repository-root';

/**
 * Some of the list, in its order. Says which on standard error.
 *
 * @param what - names the list where the sample is printed; other lists are drawn from independently
 */
export function sampleOf<T>(
  what: string,
  list: readonly T[],
  size: number,
  nameOf: (one: T) => string,
): readonly T[] {
  const seed = commit();
  const chosen = drawn(seed, what, list, size);
  process.stderr.write(`${what}, drawn by ${seed}: ${chosen.map(nameOf).join('; ')}\n`);
  return chosen;
}

/** The same for the same seed, whatever else is drawn. */
function drawn<T>(seed: string, what: string, list: readonly T[], size: number): readonly T[] {
  const lots = list.map((one, index) => ({ one, index, lot: lotOf(`${seed}/${what}/${index}`) }));
  const first = lots.sort((a, b) => (a.lot < b.lot ? -1 : 1)).slice(0, size);
  return first.sort((a, b) => a.index - b.index).map(({ one }) => one);
}

function lotOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A tree that was unpacked from an archive has none: its sample is always the same, and says so. */
function commit(): string {
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], {
    cwd: repositoryRoot(),
    encoding: 'utf8',
  });
  return status === 0 ? `commit ${stdout.slice(0, 12)}` : 'no commit';
}
