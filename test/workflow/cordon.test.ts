/** Whoever changes the cordon of a node during its update, and pods that come all the same. */

import { ANNOTATION, NodeState } from '../../core/names';
import { containing } from './support/containing';
import type { FakeWorld, WorldOptions } from './support/fake-world';
import {
  deeds,
  deedsBetween,
  expectBackInService,
  oneNodeOn,
  type OneNode,
} from './support/one-node';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterEach(() => {
  expect(temporal.violations()).toEqual([]);
});
afterAll(() => temporal.stop(), 60_000);

const oneNode = (options?: WorldOptions) => oneNodeOn(temporal, options);

/** `kubectl uncordon`, the mark is removed, pods come, `kubectl cordon`. */
function cordonedAnew({ world, node }: OneNode): void {
  world.changeNode(node, { unschedulable: false });
  world.changeNode(node, { annotations: { [ANNOTATION.CORDONED_BY]: null } });
  world.changeNode(node, { unschedulable: true });
}

/** On its old config, under a cordon that is not ours. */
function expectLeftToPerson({ world, node }: OneNode): void {
  expect(world.node(node).spec?.unschedulable).toBe(true);
  expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
  expect(world.leftovers()).toEqual([]);
}

describe('a person at the cordon', () => {
  it('who cordons the node before has it left alone, and that is no failure', async () => {
    const one = await oneNode();
    const gate = one.world.hold('takeOutOfService', one.node);
    await one.world.startUpdate(one.node);
    await gate.reached;
    one.world.changeNode(one.node, { unschedulable: true });
    gate.open();

    expect(await one.world.ended(one.node)).toMatchObject({
      ...{ outcome: 'cancelled', failure: 'CordonedByUser' },
    });
    expect(deeds(one)).not.toContain('drainNode');
    expect(one.world.annotation(one.node, ANNOTATION.STATE)).toBe(NodeState.DONE);
    expectLeftToPerson(one);
  });

  it('who takes it over during the drain has the node left alone, and that is no failure', async () => {
    const one = await oneNode();
    const draining = one.world.hold('drainNode', one.node);
    await one.world.startUpdate(one.node);
    await draining.reached;
    cordonedAnew(one);
    draining.open();

    expect(await one.world.ended(one.node)).toMatchObject({
      ...{ outcome: 'cancelled', failure: 'CordonedByUser' },
    });
    expect(deeds(one)).not.toContain('applyUpdate');
    expect(deeds(one)).not.toContain('goBack');
    expect(one.world.annotation(one.node, ANNOTATION.REASON)).toBe('');
    expectLeftToPerson(one);
  });

  it('who takes it away after the drain has the host taken back, without a reboot', async () => {
    const one = await oneNode();
    const gate = one.world.hold('applyUpdate', one.node);
    await one.world.startUpdate(one.node);
    await gate.reached;
    one.world.changeNode(one.node, { unschedulable: false });
    gate.open();

    expect(await one.world.ended(one.node)).toMatchObject({
      ...{ outcome: 'failed', reason: containing(`node ${one.node} was uncordoned`) },
    });
    expect(deeds(one)).not.toContain('armReboot');
    expect(one.world.annotation(one.node, ANNOTATION.REASON)).toContain('UncordonedByUser');
    expectBackInService(one);
  });

  it('who takes it away and cordons anew has the host taken back, without a reboot', async () => {
    const one = await oneNode();
    const gate = one.world.hold('applyUpdate', one.node);
    await one.world.startUpdate(one.node);
    await gate.reached;
    cordonedAnew(one);
    gate.open();

    expect(await one.world.ended(one.node)).toMatchObject({ outcome: 'cancelled' });
    expect(deeds(one)).not.toContain('armReboot');
    expect(deeds(one)).toContain('goBack');
    expectLeftToPerson(one);
  });
});

describe('on a node to which a pod is bound late, an update', () => {
  /** The node is cordoned and drained while its host writes. */
  async function boundLate(
    meanwhile: (one: OneNode) => void = () => undefined,
  ): Promise<OneNode & { readonly draining: ReturnType<FakeWorld['hold']> }> {
    const one = await oneNode();
    const applying = one.world.hold('applyUpdate', one.node);
    await one.world.startUpdate(one.node);
    await applying.reached;
    one.world.bindLate(one.node);
    meanwhile(one);
    const draining = one.world.hold('drainNode', one.node);
    applying.open();
    return { ...one, draining };
  }

  it('drains once more before its reboot', async () => {
    const one = await boundLate();
    await one.draining.reached;
    expect(await one.world.status(one.node)).toMatchObject({
      ...{ phase: 'Draining', blocker: 'pods that came since its drain to leave the node' },
    });
    one.draining.open();

    expect(await one.world.ended(one.node)).toMatchObject({ outcome: 'updated' });
    expect(deedsBetween(one, 'applyUpdate', 'verifyUpdate')).toEqual([
      ...['applyUpdate', 'drainNode', 'armReboot'],
    ]);
  });

  it('goes back, without a reboot, when the pod does not go, and is tried again', async () => {
    const blocked = 'node was not drained within 30 s: pod shop/till-0: its budget';
    const one = await boundLate(({ world, node }) => {
      world.failWith('drainNode', node, 'DrainTimedOut', blocked, 1);
    });
    one.draining.open();

    await one.world.ended(one.node);

    expect(deeds(one)).toEqual(expect.arrayContaining(['goBack', 'verifyBack', 'releaseNode']));
    expect(deeds(one)).not.toContain('armReboot');
    expect(one.world.host(one.node).failed).toBeUndefined();
    expect(one.world.annotation(one.node, ANNOTATION.STATE)).toBe(NodeState.DONE);
    expect(one.world.annotation(one.node, ANNOTATION.DRAIN_TIMED_OUT)).toBeDefined();
    expectBackInService(one);
  });

  it('can be cancelled in that drain', async () => {
    const one = await boundLate();
    await one.draining.reached;
    await one.world.update(one.node).cancel();

    expect(await one.world.ended(one.node)).toMatchObject({ status: 'CANCELLED' });
    expect(deeds(one)).not.toContain('armReboot');
    expectBackInService(one);
  });

  it.each([
    ['drains once more before it boots back', { ready: true }, ['drainNode', 'goBack']],
    ['boots back at once when the machine has fallen over', { ready: false }, ['goBack']],
  ] as const)('%s', async (_, change, expected) => {
    const one = await oneNode();
    const { world, node } = one;
    const verifying = world.hold('awaitReturn', node);
    world.failWith('awaitReturn', node, 'VerifyFailed', 'fell over again', 1);
    await world.startUpdate(node);
    await verifying.reached;
    world.bindLate(node);
    world.changeNode(node, change);
    verifying.open();

    expect(await world.ended(node)).toMatchObject({ outcome: 'failed' });
    expect(deedsBetween(one, 'awaitReturn', 'verifyBack')).toEqual([
      ...['awaitReturn', ...expected],
    ]);
    expectBackInService(one);
  });
});

describe('after its reboot, a node that a person has uncordoned', () => {
  /** Its update is about to fail. */
  async function failing(): Promise<OneNode & { readonly gate: ReturnType<FakeWorld['hold']> }> {
    const one = await oneNode();
    const gate = one.world.hold('awaitReturn', one.node);
    one.world.failWith('awaitReturn', one.node, 'VerifyFailed', 'fell over again', 1);
    await one.world.startUpdate(one.node);
    await gate.reached;
    return { ...one, gate };
  }

  async function uncordonedAfterReboot(): Promise<OneNode> {
    const one = await failing();
    one.world.changeNode(one.node, { unschedulable: false });
    one.gate.open();
    return one;
  }

  it('is cordoned and drained again before it boots back', async () => {
    const one = await failing();
    const draining = one.world.hold('drainNode', one.node);
    one.world.changeNode(one.node, { unschedulable: false });
    one.gate.open();
    await draining.reached;
    expect(await one.world.status(one.node)).toMatchObject({
      phase: 'GoingBack',
      blocker: 'pods to leave the node once more, before it boots back',
    });
    expect(one.world.cordoned()).toEqual([one.node]);
    draining.open();

    expect(await one.world.ended(one.node)).toMatchObject({ outcome: 'failed' });
    expect(deedsBetween(one, 'awaitReturn', 'goBack')).toEqual([
      ...['awaitReturn', 'cordonAgain', 'drainNode'],
    ]);
    expectBackInService(one);
  });

  it('is drained under the cordon of a person, which stays where it is', async () => {
    const one = await failing();
    cordonedAnew(one);
    one.gate.open();

    expect(await one.world.ended(one.node)).toMatchObject({ outcome: 'failed' });
    expect(deedsBetween(one, 'awaitReturn', 'goBack')).toEqual(['awaitReturn', 'drainNode']);
    expectLeftToPerson(one);
  });

  it('is taken back also when the person cordons it a moment before its update does', async () => {
    const one = await failing();
    const cordoning = one.world.hold('cordonAgain', one.node);
    one.world.changeNode(one.node, { unschedulable: false });
    one.gate.open();
    await cordoning.reached;
    cordonedAnew(one);
    cordoning.open();

    expect(await one.world.ended(one.node)).toMatchObject({ outcome: 'failed' });
    expect(deedsBetween(one, 'awaitReturn', 'goBack')).toEqual([
      ...['awaitReturn', 'cordonAgain', 'drainNode'],
    ]);
    expectLeftToPerson(one);
  });

  it('is cordoned and drained anew when it is uncordoned in that drain', async () => {
    const one = await failing();
    const draining = one.world.hold('drainNode', one.node);
    one.world.changeNode(one.node, { unschedulable: false });
    one.gate.open();
    await draining.reached;
    one.world.changeNode(one.node, { unschedulable: false });
    draining.open();

    expect(await one.world.ended(one.node)).toMatchObject({ outcome: 'failed' });
    expect(deedsBetween(one, 'awaitReturn', 'goBack')).toEqual([
      'awaitReturn',
      ...['cordonAgain', 'drainNode'],
      ...['cordonAgain', 'drainNode'],
    ]);
    expectBackInService(one);
  });

  it('stays as it is when it is uncordoned in every drain', async () => {
    const one = await failing();
    const { world, node } = one;
    let draining = world.hold('drainNode', node);
    world.changeNode(node, { unschedulable: false });
    one.gate.open();
    for (const next of [true, true, true, true, false]) {
      await draining.reached;
      world.changeNode(node, { unschedulable: false });
      const done = draining;
      if (next) draining = world.hold('drainNode', node);
      done.open();
    }

    expect(await world.ended(node)).toMatchObject({ failure: 'RollbackFailed' });
    expect(deeds(one)).not.toContain('goBack');
    // One of them before its reboot.
    expect(deeds(one).filter((step) => step === 'drainNode')).toHaveLength(6);
    expect(world.annotation(node, ANNOTATION.REASON)).toContain('UncordonedByUser');
    expect(world.cordoned()).toEqual([node]);
  });

  it('is taken back also in another pool', async () => {
    const one = await failing();
    one.world.changeNode(one.node, { unschedulable: false });
    one.world.moveNode(one.node);
    one.gate.open();

    expect(await one.world.ended(one.node)).toMatchObject({ outcome: 'failed' });
    expect(deedsBetween(one, 'awaitReturn', 'verifyBack')).toEqual([
      ...['awaitReturn', 'cordonAgain', 'drainNode', 'goBack'],
    ]);
  });

  it('stays as it is when its pods do not go, cordoned, with the reason', async () => {
    const one = await failing();
    const blocked = 'node was not drained within 30 s: pod shop/till-0: its budget';
    one.world.failWith('drainNode', one.node, 'DrainTimedOut', blocked, 1);
    one.world.changeNode(one.node, { unschedulable: false });
    one.gate.open();

    expect(await one.world.ended(one.node)).toMatchObject({ failure: 'RollbackFailed' });
    expect(deeds(one)).not.toContain('goBack');
    expect(one.world.cordoned()).toEqual([one.node]);
    expect(one.world.annotation(one.node, ANNOTATION.REASON)).toContain(blocked);
  });

  it('is not drained when its machine fell over', async () => {
    const one = await failing();
    one.world.changeNode(one.node, { unschedulable: false, ready: false });
    one.gate.open();

    expect(await one.world.ended(one.node)).toMatchObject({ outcome: 'failed' });
    expect(deedsBetween(one, 'awaitReturn', 'goBack')).toEqual(['awaitReturn']);
    expectBackInService(one);
  });

  it('is taken back all the same when nobody can say whether it is cordoned', async () => {
    const one = await failing();
    one.world.failWith('checkCordon', one.node, 'ApiRefused', 'the look was refused', 1);
    one.gate.open();

    expect(await one.world.ended(one.node)).toMatchObject({ outcome: 'failed' });
    expect(deeds(one)).toContain('goBack');
    expectBackInService(one);
  });

  it('has failed on its config, which its host is told', async () => {
    const one = await uncordonedAfterReboot();

    await one.world.ended(one.node);

    expect(one.world.host(one.node).failed).toBe('VerifyFailed: fell over again');
  });
});
