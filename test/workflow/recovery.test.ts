/** Nodes and hosts that an earlier update has left half done: the next one settles them. */

import { ANNOTATION, NodeState } from '../../core/names';
import type { FoundNode } from '../../core/node/update-states';
import { deeds, deedsBetween, oneNodeOn, type OneNode } from './support/one-node';
import { startTestTemporal, type TestTemporal } from './support/temporal';

jest.setTimeout(60_000);

const AWAY = ['HostUnreachable', 'no host worker'] as const;
const LOST = { found: 'lost' } as const;

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await startTestTemporal();
}, 180_000);
afterEach(() => {
  expect(temporal.violations()).toEqual([]);
});
afterAll(() => temporal.stop(), 60_000);

/** Its update was lost at this step. */
async function lostAt(step: string): Promise<OneNode> {
  const one = await oneNodeOn(temporal);
  const gate = one.world.hold(step, one.node);
  await one.world.startUpdate(one.node);
  await gate.reached;
  await one.world.update(one.node).terminate('lost');
  gate.open();
  return one;
}

function countOf(one: OneNode, step: string): number {
  return deeds(one).filter((taken) => taken === step).length;
}

describe('a node whose update was lost', () => {
  it.each(['drainNode', 'applyUpdate', 'armReboot', 'verifyUpdate', 'commitUpdate'])(
    'at %s is taken up by the next one',
    async (step) => {
      const one = await lostAt(step);

      expect(await one.world.run(one.node, LOST)).toMatchObject({ outcome: 'updated' });
      expect(one.world.updatedNodes()).toEqual([one.node]);
      expect(one.world.leftovers()).toEqual([]);
    },
  );

  it('has failed for good when its host says so, and is tried again when told', async () => {
    const one = await oneNodeOn(temporal);
    const { world, node } = one;
    world.failWith('verifyUpdate', node, 'VerifyFailed', 'unit a.service has failed', 1);
    const isBack = world.hold('awaitReturn', node);
    await world.startUpdate(node);
    await isBack.reached;
    await world.update(node).terminate('lost');
    isBack.open();
    expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.WORKING);

    expect(await world.run(node, LOST)).toMatchObject({ failure: 'EarlierUpdateFailed' });

    const reason = 'EarlierUpdateFailed: lost: VerifyFailed: unit a.service has failed';
    expect(world.annotation(node, ANNOTATION.REASON)).toBe(reason);
    expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DEGRADED);
    expect(world.cordoned()).toEqual([]);
    expect(countOf(one, 'armReboot')).toBe(1);
    expect(await world.run(node)).toMatchObject({ outcome: 'updated' });
    expect(countOf(one, 'armReboot')).toBe(2);
  });
});

describe('a host that a lost update left on what does not hold', () => {
  async function leftHost(): Promise<OneNode> {
    const one = await oneNodeOn(temporal);
    one.world.host(one.node).isLeft = true;
    return one;
  }

  it('is taken back when the node is drained, which is no failure, and is tried again', async () => {
    const one = await leftHost();

    expect(await one.world.run(one.node, LOST)).toMatchObject({
      ...{ outcome: 'cancelled', failure: 'EarlierUpdateLost' },
    });

    expect(deeds(one)).toEqual([
      ...['prepareUpdate', 'cordon', 'drainNode', 'applyUpdate'],
      ...['goBack', 'verifyBack', 'awaitReturn', 'releaseNode'],
    ]);
    expect(one.world.host(one.node)).toMatchObject({ boots: 2, config: 'c1' });
    expect(one.world.host(one.node).failed).toBeUndefined();
    expect(one.world.annotation(one.node, ANNOTATION.STATE)).toBe(NodeState.DONE);
    expect(await one.world.run(one.node)).toMatchObject({ outcome: 'updated' });
    expect(one.world.leftovers()).toEqual([]);
  });

  it('is drained once more before it boots back when a person uncordons the node', async () => {
    const one = await leftHost();
    const applying = one.world.hold('applyUpdate', one.node);
    await one.world.startUpdate(one.node, LOST);
    await applying.reached;
    one.world.changeNode(one.node, { unschedulable: false });
    applying.open();

    await one.world.ended(one.node);
    expect(deedsBetween(one, 'applyUpdate', 'verifyBack')).toEqual([
      ...['applyUpdate', 'cordonAgain', 'drainNode', 'goBack'],
    ]);
  });

  it('is not put back into service when the update that found it is cancelled before', async () => {
    const one = await lostAt('drainNode');
    const { world, node } = one;
    world.host(node).isLeft = true;
    const gate = world.hold('drainNode', node);
    await world.startUpdate(node, LOST);
    await gate.reached;

    await world.update(node).cancel();

    expect(await world.ended(node)).toMatchObject({ status: 'CANCELLED' });
    expect(world.cordoned()).toEqual([node]);
    expect(world.annotation(node, ANNOTATION.CORDONED_BY)).toBeDefined();
    expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DEGRADED);
    expect(world.host(node).boots).toBe(1);
  });
});

/** Its update was lost during the drain; one for another config prepares it. */
async function foundHalfDone(refusal?: readonly [string, string]) {
  const one = await lostAt('drainNode');
  const { world, node } = one;
  world.retarget('c3');
  if (refusal !== undefined) world.failWith('prepareUpdate', node, ...refusal);
  return one;
}

const TO_C3 = { ...LOST, config: 'c3' };

describe('a node that an update was to take further that a lost one had left half done', () => {
  it.each([
    ['cordoned', false],
    ['in service again', true],
  ])('and left %s is given back as what it is when it never was targeted', async (_how, isBack) => {
    const { world, node } = await foundHalfDone();
    if (isBack) world.changeNode(node, { unschedulable: false });
    const waiting = world.hold('takeOutOfService', node);
    await world.startUpdate(node, TO_C3);
    await waiting.reached;

    await world.update(node).cancel();

    expect(await world.ended(node)).toMatchObject({ status: 'CANCELLED' });
    expect(world.cordoned()).toEqual([]);
    expect(world.node(node).metadata.annotations).toMatchObject({
      [ANNOTATION.CURRENT_CONFIG]: 'c1',
      [ANNOTATION.DESIRED_CONFIG]: 'c1',
      [ANNOTATION.STATE]: NodeState.DONE,
    });
  });
});

describe('a host that refuses an update, and that a lost one had begun to change', () => {
  const FORBIDDEN = ['ConfigForbidden', 'it may not have the config'] as const;

  it.each([['ConfigDrift', 'the disk is not as it says'], FORBIDDEN] as const)(
    'is in service when it has settled that (%s)',
    async (name, why) => {
      const one = await foundHalfDone([name, why]);
      const { world, node } = one;

      await world.run(node, TO_C3);

      expect(world.cordoned()).toEqual([]);
      expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DEGRADED);
      expect(world.annotation(node, ANNOTATION.REASON)).toBe(`${name}: ${why}`);
      expect(countOf(one, 'discardStaged')).toBe(1);
    },
  );

  it.each<FoundNode>(['lost', 'left'])(
    'stays cordoned when it has not settled that (%s)',
    async (found) => {
      const { world, node } = await foundHalfDone(FORBIDDEN);
      world.host(node).isLeft = true;

      await world.run(node, { ...TO_C3, found });

      expect(world.cordoned()).toEqual([node]);
    },
  );

  it('stays cordoned, and is not asked, when it does not answer', async () => {
    const one = await foundHalfDone(AWAY);

    await one.world.run(one.node, TO_C3);

    expect(one.world.cordoned()).toEqual([one.node]);
    expect(deeds(one)).not.toContain('discardStaged');
  });

  it('is asked once when its update is cancelled before it has answered', async () => {
    const one = await foundHalfDone();
    const { world, node } = one;
    const preparing = world.hold('prepareUpdate', node);
    const asking = world.hold('discardStaged', node);
    await world.startUpdate(node, TO_C3);
    await preparing.reached;

    await world.update(node).cancel();
    await asking.reached;
    expect(world.cordoned()).toEqual([node]);
    asking.open();

    expect(await world.ended(node)).toMatchObject({ status: 'CANCELLED' });
    expect(world.cordoned()).toEqual([]);
    expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DONE);
    expect(countOf(one, 'discardStaged')).toBe(1);
  });
});

/** Applied, and neither rebooted nor taken back: its host was away. */
async function leftApplied(): Promise<OneNode> {
  const one = await oneNodeOn(temporal);
  const { world, node } = one;
  world.failWith('armReboot', node, ...AWAY, 1);
  world.failWith('goBack', node, ...AWAY, 1);
  expect(await world.run(node)).toMatchObject({ failure: 'RollbackFailed' });
  expect(world.host(node).applied).toBe('c2');
  expect(world.cordoned()).toEqual([node]);
  return one;
}

describe('a node that an earlier update has left out of service', () => {
  it('is updated when its host is there again', async () => {
    const { world, node } = await leftApplied();

    expect(await world.run(node, { found: 'left' })).toMatchObject({ outcome: 'updated' });
    expect(world.leftovers()).toEqual([]);
    expect(world.cordoned()).toEqual([]);
  });

  describe('and whose next update has taken over what was written, and goes on no further,', () => {
    async function takenOver(): Promise<OneNode> {
      const one = await leftApplied();
      const waiting = one.world.hold('takeOutOfService', one.node);
      await one.world.startUpdate(one.node, { found: 'left' });
      await waiting.reached;
      return one;
    }

    it('is uncordoned after its host has undone it', async () => {
      const { world, node } = await takenOver();
      const undoing = world.hold('discardStaged', node);
      await world.update(node).cancel();
      await undoing.reached;

      expect(world.cordoned()).toEqual([node]);
      expect(await world.status(node)).toMatchObject({
        blocker: 'the host to undo what it had taken over from an earlier update',
      });
      undoing.open();
      await world.ended(node);

      expect(world.host(node).applied).toBeUndefined();
      expect(world.cordoned()).toEqual([]);
      expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DONE);
      expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
    });

    it.each(['is away', 'was rebooted meanwhile'])(
      'stays cordoned when its host %s',
      async (how) => {
        const { world, node } = await takenOver();
        if (how === 'is away') world.failWith('discardStaged', node, ...AWAY);
        else world.host(node).isLeft = true;

        await world.update(node).cancel();
        await world.ended(node);

        expect(world.host(node).applied).toBe('c2');
        expect(world.cordoned()).toEqual([node]);
        expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DEGRADED);
      },
    );
  });
});

describe('an update that takes its node back to what it was on', () => {
  const BACK = { found: 'lost', config: 'c1', takesBack: true } as const;

  it('puts a held node back into service, which stays held', async () => {
    const one = await lostAt('applyUpdate');
    const { world, node } = one;
    world.holdNode(node);

    expect(await world.run(node, BACK)).toMatchObject({ outcome: 'updated' });

    expect(world.cordoned()).toEqual([]);
    expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
    expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DONE);
    expect(world.annotation(node, ANNOTATION.HELD_FOR)).toBe('c2');
  });

  it('boots a host back that only a reboot takes back, whatever its pool is to get', async () => {
    const one = await lostAt('drainNode');
    const { world, node } = one;
    world.holdNode(node);
    world.host(node).isLeft = true;

    expect(await world.run(node, BACK)).toMatchObject({
      ...{ outcome: 'cancelled', failure: 'EarlierUpdateLost' },
    });

    expect(countOf(one, 'goBack')).toBe(1);
    expect(world.host(node).boots).toBe(2);
    expect(world.cordoned()).toEqual([]);
    expect(world.annotation(node, ANNOTATION.STATE)).toBe(NodeState.DONE);
  });

  it('is not held for that when a person cancels it', async () => {
    const one = await lostAt('drainNode');
    const { world, node } = one;
    world.host(node).isLeft = true;
    const gate = world.hold('drainNode', node);
    await world.startUpdate(node, BACK);
    await gate.reached;
    await world.update(node).cancel();

    expect(await world.ended(node)).toMatchObject({ status: 'CANCELLED' });
    expect(world.annotation(node, ANNOTATION.HELD_FOR)).toBeUndefined();
    expect(world.cordoned()).toEqual([node]);
    expect(world.annotation(node, ANNOTATION.REASON)).toBe(
      'a person cancelled the update in Temporal',
    );
  });
});
