/** The disk of a host fails during its update: it is read-only, very slow, or full. */

import { once } from 'node:events';
import { readFileSync, watch } from 'node:fs';
import { join } from 'node:path';
import { machineConfig, plainFile } from '../e2e/support/configs';
import { openJournals, wrongOnDisk } from '../e2e/support/disk-at-rest';
import { markOf, rebootsOf } from '../e2e/support/judgements';
import { roomLeft } from '../e2e/support/leftovers';
import { endOf, linesOf } from '../e2e/support/logs';
import { renderedConfigs } from '../e2e/support/rendered-config';
import {
  CURRENT_CONFIG,
  POOL,
  REASON,
  START_MS,
  startWorld,
  STATE,
  STOP_MS,
  type World,
} from '../e2e/support/world';
import { BoundaryWatch } from './support/boundaries';
import { makeReadOnly, makeSlow, makeSmall } from './support/failing-disk';
import { expectRest } from './support/rest';
import { tally } from './support/results';
import { PATIENCE_MS } from './support/strike';

const STORY_MS = 300_000;
const NODE = 'worker-0';
const HOSTS = `host-worker/${POOL}`;
const FILES = 75;
/** Files that are put into place before the next batch. */
const BATCH = 64;
/** All files together take longer than the 30 s after which a silent host counts as dead. */
const HELD_UP_MS = 500;
/** Slow enough to fill the disk between two files. */
const WATCHED_MS = 100;
const DISK_MIB = 32;
/** More than one batch frees on a full disk when it replaces files of one block each. */
const LARGE_BYTES = 2 * BATCH * 4096;

let world: World;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 1, worker: 1 },
    patienceMs: PATIENCE_MS,
    maxUnavailable: 1,
    policy: { verify: { readySeconds: 1 } },
    simulation: { stageSeconds: 0.1, applySeconds: 2, rebootSeconds: 0.5, jitter: 0, failures: [] },
    workloads: [],
  });
}, START_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

const DIRECTORY = '/etc/disks';

/**
 * @param large - indexes of large files; the first file is put into place first, the last one last
 */
function config(serial: number, large: readonly number[] = []) {
  return machineConfig('50-disks', {
    kernelArguments: [`disks=${serial}`],
    files: Array.from({ length: FILES }, (_, index) => {
      const more = large.includes(index) ? 'x'.repeat(LARGE_BYTES) : '';
      return plainFile(`${DIRECTORY}/${nameOf(index)}`, `${serial} ${index}\n${more}`);
    }),
  });
}

function nameOf(index: number): string {
  return `${String(index).padStart(2, '0')}.conf`;
}

function isInPlace(index: number, serial: number): boolean {
  const path = join(world.stack.hostRoot(NODE), DIRECTORY, nameOf(index));
  return readFileSync(path, 'utf8').startsWith(`${serial} `);
}

async function untilInPlace(index: number, serial: number): Promise<void> {
  const watcher = watch(join(world.stack.hostRoot(NODE), DIRECTORY));
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    while (!isInPlace(index, serial)) await once(watcher, 'change', { signal });
  } finally {
    watcher.close();
  }
}

async function expectBack(before: string, why: RegExp): Promise<void> {
  await world.until('the node has failed and serves', () => {
    const { annotations, ready, unschedulable } = world.node(NODE);
    return annotations[STATE] === 'Degraded' && ready && !unschedulable;
  });
  expect(world.node(NODE).annotations[REASON]).toMatch(why);
  expect(world.node(NODE).annotations[CURRENT_CONFIG]).toBe(before);
  const configs = await renderedConfigs(world.api);
  expect(await wrongOnDisk(configs, before, world.stack.hostRoot(NODE))).toEqual([]);
}

test(
  'a disk that cannot be written any more: named, as it was, in service; a retry completes',
  async () => {
    const mark = markOf(world.record);
    const before = world.target();
    const root = world.stack.hostRoot(NODE);
    const target = await world.roll(config(1));
    await new BoundaryWatch(world, target).reach('Applying');
    const makeWritable = makeReadOnly(root);
    try {
      await world.slipwayUntil(['node', 'status', NODE], ({ out }) => /read-only/i.test(out));
    } finally {
      makeWritable();
    }
    await expectBack(before, /read-only/i);
    expect(rebootsOf(world.record, NODE, mark)).toEqual([]);

    expect(await world.retry(NODE)).toMatchObject({ code: 0 });
    await expectRest(world, target, mark);
    tally('disks', { victim: 'host-worker', blow: 'read-only disk', boundary: 'Applying' });
  },
  STORY_MS,
);

test(
  'a disk that takes longer than a heartbeat for what is written: slow is not dead',
  async () => {
    const mark = markOf(world.record);
    const logged = endOf(world.stack.product.logFile(HOSTS));
    const disk = await makeSlow(world.stack.product.pid(HOSTS), HELD_UP_MS);
    const target = await world.roll(config(2));
    await new BoundaryWatch(world, target).reach('Rebooting');
    const heldUp = disk.heldUp();
    await disk.end();

    expect(heldUp).toBeGreaterThanOrEqual(FILES);
    await expectRest(world, target, mark);
    const log = linesOf(world.stack.product.logFile(HOSTS), logged);
    const applied = log.filter(({ activity }) => activity === 'applyUpdate');
    expect(applied).toMatchObject([{ msg: 'config applied' }]);
    tally('disks', {
      victim: 'host-worker',
      blow: `${HELD_UP_MS} ms a file`,
      boundary: 'Applying',
    });
  },
  STORY_MS,
);

test(
  'a disk that runs full while files are put into place: undone in the room kept for it; a retry completes',
  async () => {
    const { product } = world.stack;
    const root = world.stack.hostRoot(NODE);
    await product.end(HOSTS);
    const small = makeSmall(root, DISK_MIB);
    try {
      await product.restartHosts(POOL);
      // Undone when only the reserved space is left.
      const before = await world.roll(config(3, [0]));
      await world.allUpdatedTo(before);
      const mark = markOf(world.record);
      const slow = await makeSlow(product.pid(HOSTS), WATCHED_MS);
      const target = await world.roll(config(4, [FILES - 1]));
      await new BoundaryWatch(world, target).reach('Applying');
      try {
        await untilInPlace(BATCH / 2, 4);
        small.fill();
        expect([isInPlace(0, 4), isInPlace(BATCH - 1, 4)]).toEqual([true, false]);
        expect(await roomLeft(root)).not.toEqual([]);
      } finally {
        await slow.end();
      }

      await expectBack(before, /no space left on device/i);
      expect(openJournals(root)).toEqual([]);
      expect(await roomLeft(root)).toEqual([]);
      expect(rebootsOf(world.record, NODE, mark)).toEqual([]);

      small.free();
      expect(await world.retry(NODE)).toMatchObject({ code: 0 });
      await expectRest(world, target, mark);
    } finally {
      // Also when the process did not end in order.
      await product.end(HOSTS).finally(() => {
        small.end();
      });
      await product.restartHosts(POOL);
    }
    tally('disks', { victim: 'host-worker', blow: 'full disk', boundary: 'Applying' });
  },
  STORY_MS,
);
