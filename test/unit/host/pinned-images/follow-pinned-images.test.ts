import { fail } from '../../../../core/errors';
import { type PinnedImages, type PinnedReport, sealedImages } from '../../../../core/pinned-images';
import {
  followPinnedImages,
  type PinnedPorts,
} from '../../../../host/pinned-images/follow-pinned-images';

const image = (name: string): string => `registry.example.com/${name}@sha256:${'1'.repeat(64)}`;
const [A, B] = [image('a'), image('b')];
const MIB = 1024 * 1024;

interface Machine {
  /** Images that are on it. */
  readonly images: Set<string>;
  wanted: PinnedImages | undefined;
  /** Of 1000 MiB. */
  free: number;
  /** Compressed; absent = not known. */
  readonly bytes?: number;
  /** Why an image cannot be pulled. */
  readonly broken: Map<string, Error>;
  away: Error | undefined;
  readonly onPull?: (machine: Machine) => void;
}

interface Followed extends Machine {
  readonly pulled: string[];
  /** The kubelet keeps them. */
  pinned: readonly string[] | undefined;
  readonly reports: PinnedReport[];
  readonly waits: number[];
}

/** @param rounds - what happens before each round but the first; the last one ends it */
async function follow(
  start: Partial<Machine>,
  rounds: readonly ((machine: Followed) => void)[] = [],
): Promise<Followed> {
  const machine: Followed = {
    ...{ images: new Set(), wanted: undefined, free: 900, broken: new Map(), away: undefined },
    ...start,
    ...{ pulled: [], pinned: undefined, reports: [], waits: [] },
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
    bytes: async () => machine.bytes,
    room: async () => ({ free: machine.free * MIB, total: 1000 * MIB }),
    pin: async (names) => {
      const error = machine.broken.get('pin');
      if (error !== undefined) throw error;
      machine.pinned = names.filter((name) => machine.images.has(name));
    },
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

it('pulls what is missing, one after the other, pins all, and tells after each', async () => {
  const { pulled, pinned, reports, waits } = await follow({ images: new Set([A]), wanted: BOTH });
  expect(pulled).toEqual([B]);
  expect(pinned).toEqual([A, B]);
  expect(reports).toEqual([{ present: 0 }, { given: BOTH.digest, present: 2 }]);
  expect(waits).toEqual([180_000]);
});

it('tells of images that were there already', async () => {
  const { pulled, pinned, reports } = await follow({ images: new Set([A, B]), wanted: BOTH });
  expect(pulled).toEqual([]);
  expect(pinned).toEqual([A, B]);
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

it('unpins all of a machine that has no pinned images any more', async () => {
  const { pulled, pinned, reports, waits } = await follow({ wanted: sealedImages('worker', []) });
  expect(pulled).toEqual([]);
  expect(pinned).toEqual([]);
  expect(reports).toHaveLength(2);
  expect(waits).toEqual([180_000]);
});

it('pins and unpins nothing before the server has answered', async () => {
  const { pinned } = await follow({ wanted: undefined });
  expect(pinned).toBeUndefined();
});

it('says why images are not pinned, and tries again', async () => {
  const broken = new Map([['pin', fail('OsCommandFailed', 'ctr images: no')]]);
  const { reports, waits } = await follow({ wanted: BOTH, broken }, [() => broken.clear()]);
  expect(reports).toContainEqual({
    ...{ given: BOTH.digest, present: 2, problem: 'images are not pinned: ctr images: no' },
  });
  expect(reports.at(-1)).toEqual({ given: BOTH.digest, present: 2 });
  expect(waits).toEqual([10_000, 180_000]);
});

it.each([
  [199, undefined, '199 MiB free and needs 200 MiB (20 % that stay free); make room'],
  [349, 50 * MIB, '349 MiB free and needs 350 MiB (3 times its 50 MiB, and 20 % that stay free)'],
])('pulls nothing that would fill the disk: %s MiB free, %s bytes', async (free, bytes, text) => {
  const size = bytes === undefined ? {} : { bytes };
  const { pulled, reports } = await follow({ wanted: BOTH, free, ...size });
  expect(pulled).toEqual([]);
  expect(reports.at(-1)).toMatchObject({
    present: 0,
    problem: expect.stringContaining(
      `image ${A} is not pulled: the file system of the images has ${text}`,
    ) as unknown,
  });
  expect((await follow({ wanted: BOTH, free: free + 1, ...size })).pulled).toEqual([A, B]);
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
