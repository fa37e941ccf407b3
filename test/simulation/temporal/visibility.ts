/** What Temporal lists: each change a while after it has come about. */

import type { OpenUpdate } from '../../../core/rollout/picture';
import type { Chance, VirtualClock } from '../clock';

const USUAL_LAG_MS = 1_000;
export const LONGEST_LAG_MS = 8_000;

/** What was said of an update when it was started. */
export type VisibleUpdate = Omit<OpenUpdate, 'run'> & { readonly pool: string };

interface Listed {
  readonly pool: string;
  readonly update: OpenUpdate;
  readonly shownAt: number;
  hiddenAt: number;
}

export class Visibility {
  /** By run. */
  private readonly listed = new Map<string, Listed>();

  constructor(
    private readonly clock: VirtualClock,
    private readonly chance: Chance,
  ) {}

  opened(run: string, { pool, ...update }: VisibleUpdate): void {
    const shownAt = this.clock.now + this.lag();
    this.listed.set(run, { pool, update: { ...update, run }, shownAt, hiddenAt: Infinity });
  }

  closed(run: string): void {
    const known = this.listed.get(run);
    if (known !== undefined) known.hiddenAt = Math.max(known.shownAt, this.clock.now + this.lag());
  }

  /** The database is lost. */
  forget(): void {
    this.listed.clear();
  }

  openOf(pool: string): readonly OpenUpdate[] {
    const { now } = this.clock;
    for (const [run, { hiddenAt }] of this.listed) if (hiddenAt <= now) this.listed.delete(run);
    return [...this.listed.values()]
      .filter((one) => one.pool === pool && one.shownAt <= now)
      .map(({ update }) => update);
  }

  private lag(): number {
    return this.chance.latency(USUAL_LAG_MS, LONGEST_LAG_MS);
  }
}
