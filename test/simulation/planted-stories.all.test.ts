/**
 * Planted bugs that chance hardly ever finds, each with a story that brings about what it needs. The same story breaks
 * nothing without the bug, nor where only the guard is gone that stands behind it.
 */

import { updateNodeId } from '../../core/names';
import {
  aStory,
  CONFIG,
  isApplied,
  MINUTE_MS,
  SECOND_MS,
  type Story,
  type Told,
} from './grants-story';
import { Product, type Bug, type Planted } from './planted-product';
import type { Attempt } from './temporal/attempt';
import type { ClusterWorker } from './world/cluster-worker';

interface PlantedStory extends Bug {
  readonly setting?: Pick<Told, 'nodes' | 'pool' | 'bad'>;
  /** Until nothing stands in the way of the rollout any more. */
  readonly tell: (story: Story) => Promise<void>;
}

const TURN = 'core/node/turn.ts';
const RUNNING = 'core/rollout/running.ts';
const STEP = 'activities/cluster/step/step.ts';

const STORIES: readonly PlantedStory[] = [
  {
    bug: 'an update that is over writes its Node while a later one has it',
    breaks: 'I4',
    change: {
      file: TURN,
      from: 'another.startedMs > Date.parse(run.startedAt)',
      to: 'another.startedMs > Infinity',
    },
    setting: { nodes: 2, pool: { policy: { verify: { reconnectSeconds: 1_800 } } } },
    tell: completedLate,
  },
  {
    bug: 'an update that has given its Node back takes it again',
    breaks: 'I1',
    change: {
      file: TURN,
      from: "if (isOver && step === 'takes')",
      to: 'if (isOver && step === undefined)',
    },
    setting: { nodes: 2, bad: { unitFails: true } },
    tell: cordonedLate,
  },
  {
    bug: 'an update that is done does not say that it is over',
    breaks: 'I6',
    change: {
      file: 'activities/cluster/node-changes.ts',
      from: "...marked(node, input, 'gives back', {",
      to: "...marked(node, input, 'takes', {",
    },
    andChange: { file: RUNNING, from: 'else toClose.push(grant);', to: '' },
    tell: () => Promise.resolve(),
  },
  {
    bug: 'a machine reboots with a pod that was bound to it after its drain',
    breaks: 'I3',
    change: {
      file: 'activities/cluster/check-cordon.ts',
      from: 'return { isEmpty: !isThere };',
      to: 'return { isEmpty: true };',
    },
    tell: boundLate,
  },
  {
    bug: 'a PoolRollout is read after the cluster was looked at',
    breaks: 'I1',
    change: {
      file: STEP,
      from: '  const known = await poolRollouts.read(input.pool);\n  const seen = await looks.at(input);\n',
      to: '  const seen = await looks.at(input);\n  const known = await poolRollouts.read(input.pool);\n',
    },
    setting: { nodes: 2, pool: { policy: { prepareAhead: 3 } } },
    tell: joinedSinceTheLook,
  },
  {
    bug: 'a step acts before its decision is written',
    breaks: 'I6',
    change: {
      file: STEP,
      from: 'const isWritten = await write(',
      to: 'await new Actions(ports, saver).follow(decision, open.updates, { ...seen, pool });\n  const isWritten = await write(',
    },
    tell: unableToAct,
  },
  {
    bug: 'a picture is believed that is older than what was told',
    breaks: 'I6',
    change: {
      file: 'activities/cluster/step/look.ts',
      from: 'const isReached = await',
      to: 'const isReached = true || await',
    },
    setting: { nodes: 2 },
    tell: retriedUnseen,
  },
  {
    bug: 'a picture is believed however long its watch has been silent',
    breaks: 'I1',
    change: {
      file: 'activities/cluster/silent-picture.ts',
      from: 'if (!isSilent(this.ports.view)) return;',
      to: 'return;',
    },
    tell: downUnseen,
  },
  {
    bug: 'a word is written while the one before it is not',
    breaks: 'I3',
    change: { from: 'queue.served === mine', to: 'true' },
    tell: saidAtOnce,
  },
  {
    bug: 'a word that comes late is written over a later one',
    breaks: 'I3',
    change: {
      file: 'activities/cluster/still-wanted.ts',
      from: 'if (!(await isAwaited())) throw',
      to: 'if ((await isAwaited()) === undefined) throw',
    },
    tell: saidLate,
  },
  {
    bug: 'an update whose machine is away still names the step before',
    breaks: 'I6',
    change: {
      from: "'the machine to come back and prove what it has'",
      to: "'the host to begin its reboot'",
    },
    tell: longAway,
  },
];

// -- Stories ---------------------------------------------------------------------------------------

/** The first attempt to complete a node goes on when the next update has written the machine. */
async function completedLate(story: Story): Promise<void> {
  let name = '';
  await story.untilAttempt('completeNode', (attempt) => {
    name = attempt.call.workflowId.slice(updateNodeId('').length);
    return attempt.standStill(15 * MINUTE_MS);
  });
  await story.until(() => story.update(name) === undefined);
  story.world.render('worker', CONFIG[3] ?? '');
  const host = story.host(name);
  await story.until(() => isApplied(host));
  host.setCut(true, false);
  await story.pass(15 * MINUTE_MS);
  host.setCut(false);
}

/**
 * A person uncordons a node whose update has to go back. The first attempt to cordon it once more goes on when that is
 * over, and another node has the only room.
 */
async function cordonedLate(story: Story): Promise<void> {
  const { world } = story;
  const host = await story.untilHost(({ boot, isUp }) => boot > 1 && isUp);
  host.report(true);
  world.uncordon(host.name);
  await story.untilAttempt('cordonAgain', (attempt) => attempt.standStill(10 * MINUTE_MS));
  await story.until(() => story.said().counts.failed === 1);
  await story.untilDraining();
  await story.pass(10 * MINUTE_MS);
  story.letGo();
  world.render('worker', CONFIG[3] ?? '');
}

/** A pod comes while the machine is written, which takes a minute. */
async function boundLate(story: Story): Promise<void> {
  const isWriting = (name: string) => story.step(name, 'applyUpdate')?.state === 'running';
  const host = await story.untilHost(({ name }) => isWriting(name));
  host.killWorker(MINUTE_MS);
  story.world.bind(host.name, { name: 'late', stuck: false });
}

/** The first request of a step takes long to arrive. Meanwhile a machine joins, and is given a grant by another step. */
async function joinedSinceTheLook(story: Story): Promise<void> {
  const { world } = story;
  const joined = 'node-003';
  for (const host of story.hosts()) host.setCut(true, false);
  await story.until(() => world.rollout('worker') !== undefined);
  await story.untilAttempt('step', (attempt) => {
    arrivesLate(attempt, 90 * SECOND_MS);
  });
  await story.pass(SECOND_MS);
  world.addNode('worker');
  world.bind(joined, { name: 'stays', stuck: true });
  await story.until(() => story.cordoned().includes(joined));
  await story.pass(90 * SECOND_MS);
  for (const host of story.hosts()) host.setCut(false);
  story.letGo();
}

/** A paused pool is resumed on a config that nobody may read, so no update can be started. */
async function unableToAct(story: Story): Promise<void> {
  const { world } = story;
  await story.untilDraining();
  world.ask('worker', 'pause', { reason: 'change freeze' });
  story.letGo();
  await story.until(() => story.said().state === 'Paused');
  await story.pass(10 * MINUTE_MS);
  world.cluster.forbidsConfigs = true;
  world.render('worker', CONFIG[3] ?? '');
  world.ask('worker', 'resume', {});
  await story.pass(5 * MINUTE_MS);
  world.cluster.forbidsConfigs = false;
}

/** A rollout whose nodes are all held looks seldom. One is retried half a minute before the watch shows that. */
async function retriedUnseen(story: Story): Promise<void> {
  const { world } = story;
  const nodes = [...world.cluster.nodes.keys()];
  await story.until(() => world.rollout('worker') !== undefined);
  for (const node of nodes) world.ask('worker', 'skipNode', { node });
  await story.until(() => story.said().held.length === nodes.length);
  await story.pass(2 * MINUTE_MS);
  onlyWorker(story).picture.nodes.delayMs = 40 * SECOND_MS;
  world.ask('worker', 'retryNode', { node: nodes[0] ?? '' });
  await story.pass(5 * MINUTE_MS);
  for (const node of nodes.slice(1)) world.ask('worker', 'retryNode', { node });
}

/** An update has its grant and has not heard of it, when no watch of nodes shows that another one goes down by itself. */
async function downUnseen(story: Story): Promise<void> {
  const { nodes, poolRollouts } = onlyWorker(story).picture;
  poolRollouts.delayMs = MINUTE_MS;
  await story.until(() => story.grants().length > 0);
  nodes.isDead = true;
  const other = story.hosts().find(({ name }) => !story.grants().includes(name));
  other?.report(false);
  await story.pass(5 * MINUTE_MS);
  poolRollouts.delayMs = 0;
  nodes.isDead = false;
  other?.report(true);
}

/** A pause that cannot be written is tried every five seconds. The resume is tried more often at first. */
async function saidAtOnce(story: Story): Promise<void> {
  const { world } = story;
  await story.untilDraining();
  world.cluster.isAway = true;
  world.ask('worker', 'pause', { reason: 'change freeze' });
  await story.pass(20 * SECOND_MS);
  await story.untilAttempt('writeWord');
  world.ask('worker', 'resume', {});
  await story.untilAttempt('writeWord');
  await story.untilAttempt('writeWord');
  world.cluster.isAway = false;
  await story.pass(MINUTE_MS);
  story.letGo();
}

/** The first attempt to write a pause goes on when the pool was paused, and resumed. */
async function saidLate(story: Story): Promise<void> {
  const { world } = story;
  await story.untilDraining();
  world.ask('worker', 'pause', { reason: 'change freeze' });
  await story.untilAttempt('writeWord', (attempt) => attempt.standStill(MINUTE_MS));
  await story.until(() => story.said().state === 'Paused');
  world.ask('worker', 'resume', {});
  await story.until(() => story.said().state !== 'Paused');
  await story.pass(MINUTE_MS);
  story.letGo();
}

async function longAway(story: Story): Promise<void> {
  const host = await story.untilHost(({ isUp }) => !isUp);
  host.breakDown();
  await story.pass(4 * MINUTE_MS);
  host.repair();
}

/** Its next request. */
function arrivesLate(attempt: Attempt, ms: number): void {
  const request = attempt.request.bind(attempt);
  attempt.request = (there, back, arrive) => {
    attempt.request = request;
    return request(there + ms, back, arrive);
  };
}

function onlyWorker({ world }: Story): ClusterWorker {
  const [worker] = world.workers;
  if (worker === undefined) throw new Error('there is no cluster worker');
  world.onlyWorker = worker;
  return worker;
}

// -- Judgement -------------------------------------------------------------------------------------

let product: Product;

beforeAll(async () => {
  product = await Product.read();
}, 180_000);

jest.setTimeout(120_000);

/** The first invariant that the story breaks; undefined = none. */
async function brokenIn({ tell, setting }: PlantedStory, planted: Planted) {
  const story = await aStory({ ...setting, ...planted, endsWhenBroken: true });
  const { violations } = story.world.invariants;
  try {
    await tell(story);
  } catch (error) {
    if (violations.length === 0) throw error;
  }
  // What goes on for ever breaks I6, whatever it says that it does.
  const isEnded = await story.toTheEnd().then(
    () => true,
    () => false,
  );
  return violations[0]?.invariant ?? (isEnded ? undefined : 'I6');
}

it.each(STORIES.map((story) => [story.bug, story] as const))(
  'is found by its story, and nothing without it: %s',
  async (_bug, story) => {
    expect(await brokenIn(story, product.sound)).toBeUndefined();
    const unguarded = await product.withoutGuard(story);
    if (unguarded !== undefined) expect(await brokenIn(story, unguarded)).toBeUndefined();
    expect(await brokenIn(story, await product.with(story))).toBe(story.breaks);
  },
);
