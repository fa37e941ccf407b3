import { percentile } from '../tools/measure/percentile';

/** MiB: medians of the second and of the last quarter of the rounds, and the maximum. */
export interface Growth {
  readonly early: number;
  readonly late: number;
  readonly most: number;
}

/** In the API server, after the first and after the last round. */
export interface Count {
  readonly first: number;
  readonly last: number;
}

/**
 * With fewer rounds, a quarter is a single round. In less time, the heaps of the runtimes still
 * find their size.
 */
const LEAST = { rounds: 8, minutes: 30 } as const;

interface Noise {
  readonly share: number;
  readonly mib: number;
}

/** Of the allocator, between quarters of a process that does not grow. */
const NOISE: Noise = { share: 0.1, mib: 16 };
/** Reachable memory differs less. */
const LIVE_NOISE: Noise = { share: 0.05, mib: 4 };

/** Events are left out: the API server drops them after an hour. */
const MORE_OBJECTS: Readonly<Record<string, number>> = {
  // The controllers keep these for rollback.
  machineConfigs: 5,
  machineConfigNodes: 0,
  leases: 0,
};

/**
 * Without the first quarter: caches fill, and the runtimes find their size.
 *
 * @param samples - memory by process, in order of time
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

interface Churned {
  readonly rounds: number;
  readonly minutes: number;
  readonly collectedRssMiB: Readonly<Record<string, Growth>>;
  readonly liveMiB: Readonly<Record<string, Growth>>;
  readonly objects: Readonly<Record<string, Count>>;
}

/** Undefined when growth can be told from chance. */
export function tooShort({
  rounds,
  minutes,
}: Pick<Churned, 'rounds' | 'minutes'>): string | undefined {
  if (rounds >= LEAST.rounds && minutes >= LEAST.minutes) return undefined;
  return `${rounds} rounds in ${minutes} minutes; it takes ${LEAST.rounds} in ${LEAST.minutes}`;
}

export function grownIn(churned: Churned): readonly string[] | undefined {
  if (tooShort(churned) !== undefined) return undefined;
  const { collectedRssMiB, liveMiB, objects } = churned;
  const counts = Object.entries(objects)
    .filter(([name, { first, last }]) => last - first > (MORE_OBJECTS[name] ?? Infinity))
    .map(([name, { first, last }]) => `${name}: ${first}, then ${last}`);
  return [
    ...grownProcesses('memory', collectedRssMiB, NOISE),
    ...grownProcesses('live memory', liveMiB, LIVE_NOISE),
    ...counts,
  ];
}

function grownProcesses(
  what: string,
  growth: Readonly<Record<string, Growth>>,
  noise: Noise,
): readonly string[] {
  return Object.entries(growth)
    .filter(([, { early, late }]) => late - early > Math.max(noise.mib, early * noise.share))
    .map(([name, { early, late }]) => `${what} of ${name}: ${early} MiB, then ${late} MiB`);
}
