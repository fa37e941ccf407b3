import { fail } from '../../../../core/errors';
import { type PinnedImages, type PinnedReport, sealedImages } from '../../../../core/pinned-images';
import {
  followPinnedImages,
  type PinnedPorts,
} from '../../../../host/pinned-images/follow-pinned-images';

const image = (name: string): string => `registry.example.com/${name}@sha256:${'1'.repeat(64)}`;
const [A, B] = [image('a'), image('b')];

interface Machine {
  /** Images that are on it. */
  readonly images: Set<string>;
  wanted: PinnedImages | undefined;
  free: number;
  /** Why an image cannot be pulled. */
  readonly broken: Map<string, Error>;
  away: Error | undefined;
  readonly onPull?: (machine: Machine) => void;
}

interface Followed extends Machine {
  readonly pulled: string[];
  readonly reports: PinnedReport[];
  readonly waits: number[];
}

/** @param rounds - what happens before each round but the first; the last one ends it */
async function follow(
  start: Partial<Machine>,
  rounds: readonly ((machine: Followed) => void)[] = [],
): Promise<Followed> {
  const machine: Followed = {
    ...{ images: new Set(), wanted: undefined, free: 0.9, broken: new Map(), away: undefined },
    ...start,
    ...{ pulled: [], reports: [], waits: [] },
  };
  const end = new AbortController();
  const left = [...rounds];
  const ports: PinnedPorts = {
    node: 'n1',
    ask: async (report) => {
      machine.reports.push(report);
      if (machine.away !== undefined) throw machine.away;
      return machine.wanted?.digest === report.given ? undefined : machine.wanted;
    },
    has: async (name) => machine.images.has(name),
    pull: async (name) => {
      machine.pulled.push(name);
      const error = machine.broken.get(name);
      if (error !== undefined) throw error;
      machine.images.add(name);
      machine.onPull?.(machine);
    },
    freePart: async () => machine.free,
  };
  const nothing = (): void => undefined;
  await followPinnedImages(ports, {
    signal: end.signal,
    log: { debug: nothing, info: nothing, warn: nothing },
    random: () => 1,
    pause: async (ms) => {
      machine.waits.push(ms);
      const next = left.shift();
      if (next === undefined) end.abort();
      else next(machine);
    },
  });
  return machine;
}

const BOTH = sealedImages('worker', [A, B]);

it('pulls what is missing, one after the other, and tells after each', async () => {
  const { pulled, reports, waits } = await follow({ images: new Set([A]), wanted: BOTH });
  expect(pulled).toEqual([B]);
  expect(reports).toEqual([{ present: 0 }, { given: BOTH.digest, present: 2 }]);
  expect(waits).toEqual([180_000]);
});

it('tells of images that were there already', async () => {
  const { pulled, reports } = await follow({ images: new Set([A, B]), wanted: BOTH });
  expect(pulled).toEqual([]);
  expect(reports.at(-1)).toEqual({ given: BOTH.digest, present: 2 });
});

it('pulls an image again that somebody deleted', async () => {
  const { pulled } = await follow({ wanted: BOTH }, [({ images }) => images.delete(A)]);
  expect(pulled).toEqual([A, B, A]);
});

it('follows another list, also in the middle of the one before', async () => {
  const other = sealedImages('worker', [image('c')]);
  const machine = await follow({
    wanted: BOTH,
    onPull: (known) => {
      known.wanted = other;
    },
  });
  expect(machine.pulled).toEqual([A, image('c')]);
  expect(machine.reports.at(-1)).toEqual({ given: other.digest, present: 1 });
});

it('does not ask the container runtime of a machine without pinned images', async () => {
  const { pulled, reports, waits } = await follow({ wanted: sealedImages('worker', []) });
  expect(pulled).toEqual([]);
  expect(reports).toHaveLength(2);
  expect(waits).toEqual([180_000]);
});

it('pulls nothing that would fill the disk, and says what is needed', async () => {
  const { pulled, reports } = await follow({ wanted: BOTH, free: 0.195 });
  expect(pulled).toEqual([]);
  expect(reports.at(-1)).toMatchObject({
    present: 0,
    problem: expect.stringContaining(
      `image ${A} is not pulled: 19 % of the file system of the images are free, and 20 % are needed; make room`,
    ) as unknown,
  });
});

it('pulls the others beside one that fails, names it, and tries again later and later', async () => {
  const broken = new Map<string, Error>([[A, fail('PullFailed', 'the registry is away')]]);
  const { pulled, reports, waits } = await follow({ wanted: BOTH, broken }, [
    () => undefined,
    (known) => known.broken.clear(),
  ]);
  expect(pulled).toEqual([A, B, A, A]);
  expect(reports).toContainEqual({
    ...{ given: BOTH.digest, present: 1, problem: 'the registry is away' },
  });
  expect(reports.at(-1)).toEqual({ given: BOTH.digest, present: 2 });
  expect(waits).toEqual([10_000, 20_000, 180_000]);
});

it('asks again when the server is away, as late as the server says', async () => {
  const away = fail('ConfigFetchFailed', 'not ready', { retryAfter: 60 });
  const { waits } = await follow({ away, wanted: BOTH }, [
    (known) => {
      known.away = undefined;
    },
  ]);
  expect(waits).toEqual([60_000, 180_000]);
});

it('tries again soon after a failure that is not in a row', async () => {
  const away = fail('ConfigFetchFailed', 'the server is away');
  const { waits } = await follow({ away }, [
    () => undefined,
    (known) => {
      known.away = undefined;
    },
    (known) => {
      known.away = away;
    },
  ]);
  expect(waits).toEqual([10_000, 20_000, 180_000, 10_000]);
});
