/** What an hour of churn may leave behind, and what it may not. */

import { percentile } from '../tools/measure/percentile';

/** Resident memory in MiB: the medians of the second and of the last quarter of the rounds, and the most. */
export interface Growth {
  readonly early: number;
  readonly late: number;
  readonly most: number;
}

/** Objects in the API server after the first and after the last round. */
export interface Count {
  readonly first: number;
  readonly last: number;
}

/**
 * With fewer rounds, a quarter of them is a round, and its memory is chance. In less time, the heaps of
 * the runtimes still find their size, which looks like growth.
 */
const LEAST = { rounds: 8, minutes: 30 } as const;

/** By which the memory of a process that does not grow differs from one quarter to another. */
const NOISE = { share: 0.1, mib: 16 } as const;

/**
 * How many more there may be at the end. Events are left out: the API server itself drops them, after an
 * hour.
 */
const MORE_OBJECTS: Readonly<Record<string, number>> = {
  // What the controllers keep of unused rendered configs by default, for a way back.
  machineConfigs: 5,
  machineConfigNodes: 0,
  leases: 0,
};

/**
 * The first quarter does not count: caches fill, and the runtimes find out how much they need.
 *
 * @param samples - resident memory by process, in order of time
 */
export function growthOf(
  samples: readonly Readonly<Record<string, number>>[],
): Readonly<Record<string, Growth>> {
  const quarter = Math.max(1, Math.floor(samples.length / 4));
  const late = samples.slice(-quarter);
  const early = samples.length > quarter ? samples.slice(quarter, 2 * quarter) : late;
  const names = Object.keys(samples.at(-1) ?? {});
  const median = (name: string, some: readonly Readonly<Record<string, number>>[]) =>
    percentile(
      some.map((sample) => sample[name] ?? 0),
      0.5,
    );
  return Object.fromEntries(
    names.map((name) => [
      name,
      {
        early: median(name, early),
        late: median(name, late),
        most: Math.max(...samples.map((sample) => sample[name] ?? 0)),
      },
    ]),
  );
}

export function firstAndLast(
  samples: readonly Readonly<Record<string, number>>[],
): Readonly<Record<string, Count>> {
  const [first = {}, last = {}] = [samples[0], samples.at(-1)];
  return Object.fromEntries(
    Object.keys(last).map((name) => [name, { first: first[name] ?? 0, last: last[name] ?? 0 }]),
  );
}

/** What was counted, and of which processes the memory is judged. */
export interface Churned {
  readonly rounds: number;
  readonly minutes: number;
  readonly rssMiB: Readonly<Record<string, Growth>>;
  readonly objects: Readonly<Record<string, Count>>;
  /** Others grow by design: Temporal keeps closed workflows for a day, etcd its history. */
  readonly own: readonly string[];
}

/** Why growth cannot be told apart from chance; undefined when it can. */
export function tooShort({
  rounds,
  minutes,
}: Pick<Churned, 'rounds' | 'minutes'>): string | undefined {
  if (rounds >= LEAST.rounds && minutes >= LEAST.minutes) return undefined;
  return `${rounds} rounds in ${minutes} minutes; it takes ${LEAST.rounds} in ${LEAST.minutes}`;
}

/** A sentence for each thing that piled up; undefined when that cannot be told. */
export function grownIn(churned: Churned): readonly string[] | undefined {
  if (tooShort(churned) !== undefined) return undefined;
  const { rssMiB, objects, own } = churned;
  const processes = Object.entries(rssMiB)
    .filter(([name, { early, late }]) => {
      return own.includes(name) && late - early > Math.max(NOISE.mib, early * NOISE.share);
    })
    .map(([name, { early, late }]) => `memory of ${name}: ${early} MiB, then ${late} MiB`);
  const counts = Object.entries(objects)
    .filter(([name, { first, last }]) => last - first > (MORE_OBJECTS[name] ?? Infinity))
    .map(([name, { first, last }]) => `${name}: ${first}, then ${last}`);
  return [...processes, ...counts];
}
