/** A person cancels the update of one node in each of its phases, and retries it afterwards. */

import { machineConfig, plainFile } from '../e2e/support/configs';
import { differences } from '../e2e/support/host-disk';
import { markOf, rebootsOf } from '../e2e/support/judgements';
import { CURRENT_CONFIG, START_MS, startWorld, STOP_MS, type World } from '../e2e/support/world';
import { BOUNDARIES, BoundaryWatch } from './support/boundaries';
import { expectRest } from './support/rest';
import { tally } from './support/results';
import { PATIENCE_MS } from './support/strike';

const STORY_MS = 240_000;

let world: World;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 0, worker: 2 },
    patienceMs: PATIENCE_MS,
    maxUnavailable: 1,
    policy: { verify: { readySeconds: 1 } },
    // Long enough for a command that starts a process of its own.
    simulation: { stageSeconds: 2, applySeconds: 2, rebootSeconds: 1, jitter: 0, failures: [] },
    workloads: [{ app: 'cart', replicas: 2, minAvailable: 1, terminationMs: 2_000 }],
  });
}, START_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

let serial = 0;

async function rollNext(): Promise<string> {
  serial += 1;
  return world.roll(
    machineConfig('50-cancel', {
      kernelArguments: [`cancel=${serial}`],
      files: [plainFile('/etc/cancel.conf', String(serial))],
    }),
  );
}

const TOO_LATE = /too late|no running update|nothing to cancel/;

test.each(BOUNDARIES.map((boundary) => [boundary] as const))(
  'cancelled while it is at %s: in service on one of the two configs, and a retry completes it',
  async (boundary) => {
    const before = world.target();
    const mark = markOf(world.record);
    const config = await rollNext();
    const watch = new BoundaryWatch(world, config);
    await world.until(`a node is at ${boundary}`, () => watch.at(boundary).length > 0);
    const [node = ''] = watch.at(boundary);

    const { code, err } = await world.slipway(['node', 'cancel', node, '--reason', 'by hand']);
    const isCancelled = code === 0;
    if (!isCancelled) expect(err).toMatch(TOO_LATE);
    // The other one goes on in either case; this one is given back, or arrives.
    const others = world.workers.filter((name) => name !== node);
    await world.allUpdatedTo(config, isCancelled ? others : world.workers);
    await world.judge.rest();

    const { annotations, ready, unschedulable } = world.node(node);
    const current = isCancelled ? before : config;
    expect({ ready, unschedulable, current: annotations[CURRENT_CONFIG] }).toEqual({
      ready: true,
      unschedulable: false,
      current,
    });
    expect(await differences(world.api, current, world.stack.hostRoot(node))).toEqual([]);
    expect(rebootsOf(world.record, node, mark)).toEqual(isCancelled ? [] : [config]);

    if (isCancelled) {
      expect(await world.retry(node)).toMatchObject({ code: 0 });
      await world.allUpdatedTo(config);
    }
    await expectRest(world, config, mark);
    tally('cancel', {
      victim: 'update-node',
      blow: isCancelled ? 'cancelled' : 'too late',
      boundary,
    });
  },
  STORY_MS,
);
