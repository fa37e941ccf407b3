/**
 * A person cancels or skips a node in each phase of its update, and retries it afterwards. The test
 * holds the phase until the request has arrived.
 */

import { readFileSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Client, WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, WorkflowNotFoundError } from '@temporalio/common';
import { machineConfig, plainFile, withOsImage } from '../e2e/support/configs';
import { differences, pictureOf } from '../e2e/support/host-disk';
import { changesOf, markOf, type Mark, rebootsOf } from '../e2e/support/judgements';
import { hold, letGo, placeStubbornPods } from '../e2e/support/stubborn';
import {
  CURRENT_CONFIG,
  DESIRED_CONFIG,
  POOL,
  START_MS,
  startWorld,
  STOP_MS,
  type World,
} from '../e2e/support/world';
import { type Boundary, BoundaryWatch } from './support/boundaries';
import { holdCordons } from './support/held-cordon';
import { expectRest } from './support/rest';
import { tally } from './support/results';
import { PATIENCE_MS, standStill } from './support/strike';
import { stepsWhenCancelled } from './support/update-history';
import { temporalClient } from '../../tools/temporal';

const STORY_MS = 240_000;
const FILE = 'etc/cancel.conf';
/** For a phase that cannot be held: enough for a command in its own process. */
const LONG_SECONDS = 15;
const POLICIES = '/apis/slipway.dev/v1alpha1/rolloutpolicies';
const HELD_FOR = 'slipway.dev/held-for';

let world: World;
let client: Client;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 0, worker: 2 },
    patienceMs: PATIENCE_MS,
    maxUnavailable: 1,
    policy: { verify: { readySeconds: 1 } },
    simulation: {
      stageSeconds: 0,
      applySeconds: 2,
      serviceSeconds: 2,
      rebootSeconds: 1,
      jitter: 0,
      failures: [],
    },
    workloads: [],
  });
  await placeStubbornPods(world);
  client = await temporalClient(world.stack.temporal);
}, START_MS);

afterAll(async () => {
  await client?.connection.close();
  await world?.stop();
}, STOP_MS);

/** With those of an update without a reboot and of a rollback. */
type Phase = Boundary | 'Reloading' | 'GoingBack';

interface Reached {
  readonly node: string;
  readonly config: string;
  letGo(): Promise<void> | void;
}

let serial = 0;

async function rollNext(): Promise<{ config: string; watch: BoundaryWatch }> {
  serial += 1;
  const manifest = machineConfig('50-cancel', {
    kernelArguments: [`cancel=${serial}`],
    files: [plainFile(`/${FILE}`, String(serial))],
  });
  const config = await world.roll(withOsImage(manifest, serial));
  return { config, watch: new BoundaryWatch(world, config) };
}

async function rollServices(): Promise<{ config: string; watch: BoundaryWatch }> {
  serial += 1;
  const files = [
    plainFile('/etc/containers/registries.d/cancel.yaml', `# ${serial}`),
    plainFile('/etc/kubernetes/credential-providers/cancel.yaml', `# ${serial}`),
  ];
  const config = await world.roll(machineConfig('50-cancel-services', { files }));
  return { config, watch: new BoundaryWatch(world, config, false) };
}

/** The step that waits for the grant cordons, too. */
function saidIn(phase: Phase): string {
  return phase === 'Cordoning' ? 'WaitingForGrant' : phase;
}

interface UpdateStatus {
  readonly config: string;
  readonly phase: string;
}

async function statusOf(node: string): Promise<UpdateStatus | undefined> {
  try {
    return await client.workflow.getHandle(`update-node/${node}`).query<UpdateStatus>('status');
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

async function nodeIn(phase: string, config: string): Promise<string> {
  const deadline = performance.now() + PATIENCE_MS;
  while (performance.now() < deadline) {
    for (const node of world.workers) {
      const status = await statusOf(node);
      if (status?.config === config && status.phase === phase) return node;
    }
  }
  throw new Error(`no update to ${config} says that it is ${phase}`);
}

const hosts = () => standStill(world.stack, 'host-worker');

async function written(node: string): Promise<void> {
  const file = join(world.stack.hostRoot(node), FILE);
  const text = String(serial);
  const isThere = () => readText(file) === text;
  const watching = new AbortController();
  await new Promise<void>((resolve) => {
    const look = () => (isThere() ? resolve() : undefined);
    watch(dirname(file), { signal: watching.signal }, look);
    look();
  });
  watching.abort();
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function readySeconds(seconds: number): Promise<void> {
  await world.api.call('PATCH', `${POLICIES}/${POOL}`, {
    spec: { verify: { readySeconds: seconds } },
  });
}

const REACH: Readonly<Record<Phase, () => Promise<Reached>>> = {
  Preparing: async () => {
    const letHosts = hosts();
    const { config } = await rollNext();
    return { node: await nodeIn('Preparing', config), config, letGo: letHosts };
  },
  WaitingForGrant: async () => {
    // A person's cordon takes all of the room.
    const taken = world.workers.at(-1) ?? '';
    await world.cordon(taken, true);
    const { config } = await rollNext();
    const node = await nodeIn('WaitingForGrant', config);
    return { node, config, letGo: () => world.cordon(taken, false) };
  },
  Cordoning: async () => {
    const held = await holdCordons(world);
    const { config } = await rollNext();
    return { node: await held.came, config, letGo: held.letGo };
  },
  Draining: async () => {
    await hold(world, world.workers);
    const { config } = await rollNext();
    return { node: await nodeIn('Draining', config), config, letGo: () => letGo(world) };
  },
  Applying: async () => {
    const { config, watch: on } = await rollNext();
    const node = await on.reach('Applying');
    await written(node);
    const letHosts = hosts();
    expect(await statusOf(node)).toMatchObject({ config, phase: 'Applying' });
    return { node, config, letGo: letHosts };
  },
  Reloading: async () => {
    const { config, watch: on } = await rollServices();
    const node = await on.reach('Reloading');
    const letHosts = hosts();
    expect(await statusOf(node)).toMatchObject({ config, phase: 'Reloading' });
    return { node, config, letGo: letHosts };
  },
  GoingBack: async () => {
    const reached = await REACH.Applying();
    const { node, config } = reached;
    // Somebody was faster in Temporal. The host to be rolled back is frozen.
    await client.workflow.getHandle(`update-node/${node}`).cancel();
    expect(await nodeIn('GoingBack', config)).toBe(node);
    return reached;
  },
  Rebooting: async () => {
    const { config, watch: on } = await rollNext();
    const node = await on.reach('Rebooting');
    const letHosts = hosts();
    expect(await statusOf(node)).toMatchObject({ config, phase: 'Rebooting' });
    return { node, config, letGo: letHosts };
  },
  Verifying: async () => {
    await readySeconds(LONG_SECONDS);
    const { config } = await rollNext();
    const node = await nodeIn('Verifying', config);
    return { node, config, letGo: () => readySeconds(1) };
  },
  Completing: async () => {
    await readySeconds(LONG_SECONDS);
    const { config } = await rollNext();
    await nodeIn('Verifying', config);
    const letHosts = hosts();
    const node = await nodeIn('Completing', config);
    return {
      node,
      config,
      letGo: () => {
        letHosts();
        return readySeconds(1);
      },
    };
  },
};

const STEPS: Readonly<Partial<Record<Phase, readonly string[]>>> = {
  Preparing: ['prepareUpdate'],
  WaitingForGrant: ['takeOutOfService'],
  Cordoning: ['takeOutOfService'],
  Draining: ['drainNode'],
  Applying: ['applyUpdate'],
  Reloading: ['performServiceActions'],
};

type Outcome = 'never disturbed' | 'given back' | 'undone' | 'too late';

const OUTCOMES: readonly (readonly [Phase, Outcome])[] = [
  ['Preparing', 'never disturbed'],
  ['WaitingForGrant', 'never disturbed'],
  ['Cordoning', 'never disturbed'],
  ['Draining', 'given back'],
  ['Applying', 'undone'],
  ['Reloading', 'undone'],
  ['GoingBack', 'undone'],
  ['Rebooting', 'too late'],
  ['Verifying', 'too late'],
  ['Completing', 'too late'],
];
const CASES = (['cancel', 'skip'] as const).flatMap((verb) =>
  OUTCOMES.map(([phase, outcome]) => [verb, phase, outcome] as const),
);

/** Both nodes are on the config of the pool, however the last case ended. */
beforeEach(async () => {
  for (const name of world.workers) {
    if (world.node(name).annotations[HELD_FOR] !== undefined) await world.retry(name);
  }
  await world.allUpdatedTo(world.target());
}, PATIENCE_MS);

test.each(CASES)(
  '%s while it is at %s: %s, and the node ends on the config',
  async (verb, phase, outcome) => {
    const before = world.target();
    const disks = new Map<string, readonly string[]>();
    for (const name of world.workers) disks.set(name, await pictureOf(world.stack.hostRoot(name)));
    const mark = markOf(world.record);
    const { evictions } = world.record;
    const { node, config, letGo: goOn } = await REACH[phase]();
    try {
      expect(await statusOf(node)).toMatchObject({ config, phase: saidIn(phase) });
      const { code, err } = await world.slipway(['node', verb, node, '--reason', 'by hand']);
      const isTooLate = outcome === 'too late';
      expect([code, err]).toEqual([
        isTooLate ? 4 : 0,
        expect.stringContaining(isTooLate ? `too late to ${verb}` : node),
      ]);
      await expectHeardIn(phase, node, config);
      if (outcome === 'given back') expect(world.record.evictions).toBe(evictions);
    } finally {
      await goOn();
    }
    if (outcome === 'too late') await expectArrived(node, config, mark);
    else {
      const disk = disks.get(node);
      await expectTakenBack({ node, config, before, mark, disk, phase, outcome });
      expect(await world.retry(node)).toMatchObject({ code: 0 });
    }
    await expectRest(world, config, mark, phase !== 'Reloading');
    tally('cancel', { victim: `update-node (${verb})`, blow: outcome, boundary: phase });
  },
  STORY_MS,
);

async function expectHeardIn(phase: Phase, node: string, config: string): Promise<void> {
  const steps = STEPS[phase];
  if (steps !== undefined) expect(await stepsWhenCancelled(client, node)).toEqual(steps);
  // After the end of the update the cordon would come too late.
  if (steps === undefined || phase === 'Cordoning') {
    expect(await statusOf(node)).toMatchObject({ config, phase: saidIn(phase) });
  }
  if (phase === 'Draining') {
    // The request itself returned the node to service.
    await world.until(`${node} is given back`, () => !world.node(node).unschedulable);
  }
}

/** The request came after the reboot was armed, and changed nothing. */
async function expectArrived(node: string, config: string, mark: Mark): Promise<void> {
  await world.allUpdatedTo(config);
  expect(rebootsOf(world.record, node, mark)).toEqual([config]);
  expect(world.node(node).annotations[HELD_FOR]).toBeUndefined();
}

interface TakenBack {
  readonly node: string;
  readonly config: string;
  readonly before: string;
  readonly mark: Mark;
  readonly disk: readonly string[] | undefined;
  readonly phase: Phase;
  readonly outcome: Outcome;
}

async function expectTakenBack(taken: TakenBack): Promise<void> {
  const { node, config, before, mark, disk, phase, outcome } = taken;
  const others = world.workers.filter((name) => name !== node);
  await world.allUpdatedTo(config, others);
  await expect(endOf(node)).resolves.toBe('cancelled');
  await world.judge.rest();

  const { annotations, ready, unschedulable } = world.node(node);
  expect({ ready, unschedulable, current: annotations[CURRENT_CONFIG] }).toEqual({
    ready: true,
    unschedulable: false,
    current: before,
  });
  expect(annotations[HELD_FOR]).toBe(config);
  const root = world.stack.hostRoot(node);
  expect(await pictureOf(root)).toEqual(disk);
  expect(await differences(world.api, before, root)).toEqual([]);
  expect(stagedOn(root)).toBeUndefined();
  expect(rebootsOf(world.record, node, mark)).toEqual([]);

  const changes = changesOf(world.record, node, mark);
  const isDisturbed = outcome !== 'never disturbed';
  expect({
    cordoned: changes.some((change) => change.node.unschedulable),
    targeted: changes.some((change) => change.node.annotations[DESIRED_CONFIG] === config),
    down: changes.some((change) => !change.node.ready),
  }).toEqual({
    cordoned: isDisturbed && phase !== 'Reloading',
    targeted: isDisturbed,
    down: false,
  });
}

/** A step that sees the hold before Temporal cancels it ends the update by itself. */
async function endOf(node: string): Promise<string> {
  try {
    await client.workflow.getHandle(`update-node/${node}`).result();
    return 'completed';
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const { cause } = error;
    const isHeld = cause instanceof ApplicationFailure && cause.type === 'HeldByUser';
    return isHeld || cause instanceof CancelledFailure ? 'cancelled' : 'failed';
  }
}

/** For the next boot of the simulated machine. */
function stagedOn(root: string): unknown {
  const text = readFileSync(join(root, 'var/lib/slipway/simulated-os.json'), 'utf8');
  return (JSON.parse(text) as { staged?: unknown }).staged;
}
