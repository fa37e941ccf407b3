/** A host whose disk fails in the middle of its update: it cannot be written any more, or only very slowly. */

import { machineConfig, plainFile } from '../e2e/support/configs';
import { wrongOnDisk } from '../e2e/support/disk-at-rest';
import { markOf, rebootsOf } from '../e2e/support/judgements';
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
import { makeReadOnly, makeSlow } from './support/failing-disk';
import { expectRest } from './support/rest';
import { tally } from './support/results';
import { PATIENCE_MS } from './support/strike';

const STORY_MS = 300_000;
const NODE = 'worker-0';
/** They are put into place one after the other. */
const FILES = 75;
/** All of them take longer than the 30 s after which a host that says nothing counts as dead. */
const HELD_UP_MS = 500;

let world: World;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 0, worker: 1 },
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

function config(serial: number) {
  return machineConfig('50-disks', {
    kernelArguments: [`disks=${serial}`],
    files: Array.from({ length: FILES }, (_, index) =>
      plainFile(`/etc/disks/${index}.conf`, `${serial} ${index}\n`),
    ),
  });
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
    await world.until('the node has failed and serves', () => {
      const { annotations, ready, unschedulable } = world.node(NODE);
      return annotations[STATE] === 'Degraded' && ready && !unschedulable;
    });
    expect(world.node(NODE).annotations[REASON]).toMatch(/read-only/i);
    expect(world.node(NODE).annotations[CURRENT_CONFIG]).toBe(before);
    expect(await wrongOnDisk(await renderedConfigs(world.api), before, root)).toEqual([]);
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
    const logged = endOf(world.stack.product.logFile(`host-worker/${POOL}`));
    const disk = await makeSlow(world.stack.product.pid(`host-worker/${POOL}`), HELD_UP_MS);
    const target = await world.roll(config(2));
    await new BoundaryWatch(world, target).reach('Rebooting');
    const heldUp = disk.heldUp();
    await disk.end();

    expect(heldUp).toBeGreaterThanOrEqual(FILES);
    await expectRest(world, target, mark);
    const log = linesOf(world.stack.product.logFile(`host-worker/${POOL}`), logged);
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
