/** Judges the cluster at rest, when statuses have had their time. */

import type { RolloutRecord } from './record';
import { problemsAtRest } from './rest';
import type { Sight } from './sight';

export interface Resting {
  readonly record: RolloutRecord;
  readonly pool: string;
  readonly sights: readonly Sight[];
  readonly restMs: number;
}

/**
 * Everything that is still wrong is a violation. So is a place without a look in all that time: at
 * rest everything is up.
 */
export async function judgeRest({ record, pool, sights, restMs }: Resting): Promise<void> {
  const blind = new Set(sights);
  const isOver = (): boolean => blind.size === 0 && problemsAtRest(record, pool).length === 0;
  await new Promise<void>((resolve) => {
    const finish = (): void => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const look = (): void => {
      if (isOver()) finish();
    };
    const stop = record.onChange(look);
    const timer = setTimeout(finish, restMs);
    for (const sight of sights) {
      void sight.sees().then(() => {
        blind.delete(sight);
        look();
      });
    }
    look();
  });
  for (const { place } of blind) {
    record.report('observer', place, `at rest, it could not be looked at for ${restMs / 1000} s`);
  }
  for (const { invariant, subject, text } of problemsAtRest(record, pool)) {
    record.report(invariant, subject, `at rest, ${text}`);
  }
}
