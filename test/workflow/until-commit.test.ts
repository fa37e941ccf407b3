/** Between verification and commit: the host is undecided, so its node is not done. */

import { ANNOTATION, NodeState } from '../../core/names';
import type { FakeWorld } from './support/fake-world';
import { containing } from './support/containing';
import { aRestartPlan } from './support/plans';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(120_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterEach(() => {
  expect(temporal.violations()).toEqual([]);
});
afterAll(() => temporal.stop(), 60_000);

/** An update whose host is asked to commit for two seconds, and then for a verification. */
const SHORT = { policy: { reconnectSeconds: 2, rebootTimeoutSeconds: 6 } };
const ENDS = ['verifyUpdate', 'awaitReturn', 'commitUpdate', 'goBack', 'completeNode'];

/** It is asked whether it has committed before it is rolled back. */
const BACK = ['goBack', 'goBack', 'awaitReturn'];

function ends(world: FakeWorld, node: string): readonly string[] {
  return world.stepsOf(node).filter((step) => ENDS.includes(step));
}

/** Its host does not answer the commit: `isDone` = it has carried it out. */
async function silentAtCommit(options: { readonly isDone?: true } = {}) {
  const world = await temporal.world(SHORT);
  const node = world.name(1);
  const committing = world.hold('commitUpdate', node);
  await world.startUpdate(node);
  await committing.reached;
  const committed = { config: 'c2', applied: undefined, staged: undefined, rebooted: false };
  if (options.isDone === true) Object.assign(world.host(node), committed);
  return { world, node, committing };
}

it('a host that was silent for a moment proves itself once more, commits, and only then its node is done', async () => {
  const { world, node, committing } = await silentAtCommit();
  const proving = world.hold('verifyUpdate', node);
  await proving.reached;

  expect(await world.status(node)).toMatchObject({
    phase: 'Verifying',
    blocker: 'the host to verify what it has: the host has not said that it has committed',
  });
  expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
  expect(world.cordoned()).toEqual([node]);
  committing.open();
  proving.open();

  expect(await world.ended(node)).toMatchObject({ outcome: 'updated' });
  expect(ends(world, node)).toEqual([
    ...['verifyUpdate', 'awaitReturn', 'commitUpdate'],
    ...['verifyUpdate', 'awaitReturn', 'commitUpdate', 'completeNode'],
  ]);
  expect(world.leftovers()).toEqual([]);
});

it.each([
  ['with a reboot', {}],
  ['without one', { plan: aRestartPlan() }],
])(
  'a machine that went back by itself meanwhile, %s, has failed on the config',
  async (_how, how) => {
    const world = await temporal.world({ ...SHORT, ...how });
    const node = world.name(1);
    const committing = world.hold('commitUpdate', node);
    await world.startUpdate(node);
    await committing.reached;
    world.failWith('verifyUpdate', node, 'VerifyFailed', 'nobody was in reach');

    const ended = await world.ended(node);
    committing.open();

    expect(ended).toMatchObject({ outcome: 'failed', failure: 'VerifyFailed' });
    expect(ends(world, node).slice(-4)).toEqual(['verifyUpdate', ...BACK]);
    expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
    expect(world.annotation(node, ANNOTATION.REASON)).toContain('nobody was in reach');
    expect(world.cordoned()).toEqual([]);
    expect(world.leftovers()).toEqual([]);
  },
);

it('a host that cannot commit is taken back', async () => {
  const world = await temporal.world();
  const node = world.name(1);
  world.failWith('commitUpdate', node, 'JournalFailed', 'the disk is gone');
  await world.startUpdate(node);

  const ended = await world.ended(node);

  expect(ended).toMatchObject({ outcome: 'failed', failure: 'JournalFailed' });
  expect(ends(world, node).slice(-4)).toEqual(['commitUpdate', ...BACK]);
  expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
  expect(world.annotation(node, ANNOTATION.REASON)).toContain('the disk is gone');
  expect(world.cordoned()).toEqual([]);
});

it('a host that stays silent has failed on its config, which counts, and is waited for', async () => {
  const { world, node, committing } = await silentAtCommit();
  const proving = world.hold('verifyUpdate', node);
  await proving.reached;
  world.failWith('goBack', node, 'RollbackFailed', 'not to be reached');

  const ended = await world.ended(node);
  proving.open();
  committing.open();

  const reason = containing('it may have committed');
  expect(ended).toMatchObject({ outcome: 'failed', failure: 'RollbackFailed', reason });
  expect(ended).toMatchObject({ reason: containing('VerifyFailed: ') });
  expect(world.cordoned()).toEqual([node]);
});

it('a host that answers in between, and never the commit, is taken back after five of them', async () => {
  const { world, node, committing } = await silentAtCommit();

  const ended = await world.ended(node);
  committing.open();

  expect(ended).toMatchObject({ outcome: 'failed' });
  expect(world.stepsOf(node).filter((step) => step === 'commitUpdate').length).toBeGreaterThan(4);
  expect(world.stepsOf(node).filter((step) => step === 'verifyUpdate')).toHaveLength(5);
  expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
  expect(world.cordoned()).toEqual([]);
  expect(world.leftovers()).toEqual([]);
});

it('a node that is not Ready any more when its host answers again has failed on its config', async () => {
  const { world, node, committing } = await silentAtCommit();
  world.failWith('awaitReturn', node, 'NodeNotReady', 'the kubelet is silent', 1);

  const ended = await world.ended(node);
  committing.open();

  expect(ended).toMatchObject({ outcome: 'failed', failure: 'NodeNotReady' });
  expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
  expect(world.cordoned()).toEqual([]);
});

describe('a host that has committed, and whose answer was lost,', () => {
  it('stays on its config, and its node is done', async () => {
    const { world, node, committing } = await silentAtCommit({ isDone: true });
    world.failWith('verifyUpdate', node, 'VerifyFailed', 'cannot be told');

    expect(await world.ended(node)).toMatchObject({ outcome: 'updated' });
    committing.open();

    expect(ends(world, node).slice(-3)).toEqual(['goBack', 'awaitReturn', 'completeNode']);
    expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c2');
    expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DONE);
    expect(world.leftovers()).toEqual([]);
  });

  it('has failed on it when its node is not Ready, and names the config that it is on', async () => {
    const { world, node, committing } = await silentAtCommit({ isDone: true });
    world.failWith('verifyUpdate', node, 'VerifyFailed', 'cannot be told');
    world.failWith('awaitReturn', node, 'NodeNotReady', 'the kubelet is silent');

    const ended = await world.ended(node);
    committing.open();

    expect(ended).toMatchObject({ outcome: 'failed', failure: 'NodeNotReady' });
    expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c2');
    expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DEGRADED);
    expect(world.annotation(node, ANNOTATION.REASON)).toContain(
      'has committed c2, so it stays on it',
    );
    expect(world.cordoned()).toEqual([]);
  });
});
