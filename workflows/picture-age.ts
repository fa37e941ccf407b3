/**
 * How new the picture must be that a look at the pool is made from: as new as that of the look before, so that
 * nothing that was seen is ever seen undone; and as new as the one in which the controllers saw what they told. A
 * cluster worker whose watch is behind shows the pool as it was, and nobody would tell the rollout again.
 */

import type { PictureVersions } from './contracts/cluster';
import type { PoolRolloutCarry } from './messages';

/**
 * A watch that leads nowhere is given up after half of this. What no look can show for so long is there no more: a
 * cluster that was restored from a backup counts its versions from before, and the controllers may not know.
 */
const BELIEVED_MS = 180_000;

const KINDS: readonly (keyof PictureVersions)[] = ['nodes', 'pools', 'policies'];

type Carried = Pick<PoolRolloutCarry, 'asNewAs' | 'told'>;

export class PictureAge {
  /** What the last look was made from. */
  private seen: PictureVersions | undefined;
  /** The newest that the controllers have told, and no look has shown yet. */
  private told: PictureVersions | undefined;
  /** Since when looks are behind, milliseconds since 1970. */
  private failsSince: number | undefined;
  /**
   * What no look could show, and controllers that have known the cluster before its backup tell again and again. Those
   * that know it as it is tell of less.
   */
  private givenUp: PictureVersions | undefined;

  constructor({ asNewAs, told }: Carried = {}) {
    this.seen = asNewAs;
    this.told = told?.versions;
    this.failsSince = told?.failsSince === undefined ? undefined : Date.parse(told.failsSince);
    this.givenUp = told?.givenUp;
  }

  hear(versions: PictureVersions): void {
    const { givenUp } = this;
    const believed = ofEach((kind) => (versions[kind] === givenUp?.[kind] ? 0 : versions[kind]));
    this.told = newest(this.told, believed);
  }

  lookSucceeded(versions: PictureVersions | undefined): void {
    this.seen = versions;
    this.failsSince = undefined;
    if (versions !== undefined && isShown(this.told, versions)) this.told = undefined;
  }

  /** Once looks have been behind for long, the next one may be older than the one before, and than what was told. */
  lookWasBehind(): void {
    this.failsSince ??= Date.now();
    if (Date.now() - this.failsSince < BELIEVED_MS) return;
    if (this.told !== undefined) this.givenUp = this.told;
    this.told = undefined;
    this.seen = undefined;
    this.failsSince = undefined;
  }

  /** For a question on the way, which nobody asks again when it fails. */
  asBefore(): Pick<Carried, 'asNewAs'> {
    return this.seen === undefined ? {} : { asNewAs: this.seen };
  }

  ofNextLook(): Pick<Carried, 'asNewAs'> {
    return this.told === undefined ? this.asBefore() : { asNewAs: newest(this.seen, this.told) };
  }

  carry(): Carried {
    const { told: versions, failsSince, givenUp } = this;
    const isNothing = [versions, failsSince, givenUp].every((one) => one === undefined);
    const told = {
      ...(versions === undefined ? {} : { versions }),
      ...(failsSince === undefined ? {} : { failsSince: new Date(failsSince).toISOString() }),
      ...(givenUp === undefined ? {} : { givenUp }),
    };
    return { ...this.asBefore(), ...(isNothing ? {} : { told }) };
  }
}

/** How new a picture must be that shows what this one does. */
export function versionsOf(
  picture: Readonly<Record<keyof PictureVersions, { readonly newest: number }>>,
): PictureVersions {
  return ofEach((kind) => picture[kind].newest);
}

function newest(before: PictureVersions | undefined, versions: PictureVersions): PictureVersions {
  return ofEach((kind) => Math.max(before?.[kind] ?? 0, versions[kind]));
}

function isShown(told: PictureVersions | undefined, by: PictureVersions): boolean {
  return told !== undefined && KINDS.every((kind) => told[kind] <= by[kind]);
}

function ofEach(version: (kind: keyof PictureVersions) => number): PictureVersions {
  return { nodes: version('nodes'), pools: version('pools'), policies: version('policies') };
}
