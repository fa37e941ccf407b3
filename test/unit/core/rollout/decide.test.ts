import { ANNOTATION } from '../../../../core/names';
import { markOf } from '../../../../core/node/turn';
import {
  A,
  B,
  cordoned,
  decideOn,
  done,
  failed,
  grantOf,
  grantsOf,
  known,
  aRun,
  NOW,
  old,
  startsOf,
  waits,
  type Situation,
} from './rollout-pool';
import { aNewNode } from '../pool/builders';

const C = 'rendered-worker-c';
const held = { [ANNOTATION.HELD_FOR]: B, [ANNOTATION.HELD_REASON]: 'skipped: disk' };
const retried = { [ANNOTATION.RETRY_FOR]: B };
const open = (node: string, run = 'r1', config = B) => ({ node, run, config, uid: `uid-${node}` });

interface Row extends Situation {
  readonly so: string;
  /** `node:run`, in order. */
  readonly leaves: readonly string[];
}

describe('the grants of a step', () => {
  const rows: readonly Row[] = [
    {
      so: 'go to prepared updates while the pool has room, in the order of their turns',
      nodes: [old('a'), old('b'), old('c'), old('d')],
      waiting: [waits('d'), waits('c'), waits('b')],
      leaves: ['b:r1', 'c:r1'],
    },
    {
      so: 'leave no room where a node is down by itself',
      nodes: [old('a'), old('b'), old('down', { ready: 'False' })],
      waiting: [waits('a'), waits('b')],
      leaves: ['a:r1'],
    },
    {
      so: 'count once of a node that is cordoned for its update',
      nodes: [cordoned('a'), old('b'), old('c')],
      waiting: [waits('a'), waits('b'), waits('c')],
      grants: [grantOf('a')],
      leaves: ['a:r1', 'b:r1'],
    },
    {
      so: 'go on until the Node says that its run has given it back',
      nodes: [cordoned('a'), old('b')],
      grants: [grantOf('a'), grantOf('b')],
      leaves: ['a:r1', 'b:r1'],
    },
    {
      so: 'end when the node is given back and serves, also one that never was cordoned',
      nodes: [
        done('a'),
        old('b', { annotations: { [ANNOTATION.UPDATE_RUN]: 'v1/2029-06-01T00:00:01Z/r1/over' } }),
      ],
      grants: [grantOf('a'), grantOf('b')],
      leaves: [],
    },
    {
      so: 'go on while the node that was given back does not serve',
      nodes: [
        done('a', { ready: 'False' }),
        failed('b', { cordonedBy: 'update-node/b' }),
        old('c'),
      ],
      waiting: [waits('c')],
      grants: [grantOf('a'), grantOf('b')],
      leaves: ['a:r1', 'b:r1'],
    },
    {
      so: 'end with their Node, whatever is named like it now',
      nodes: [old('a'), old('b')],
      grants: [grantOf('a', 'r1', { uid: 'another' }), grantOf('gone')],
      leaves: [],
    },
    {
      so: 'are made anew from the Nodes when the list is lost',
      nodes: [cordoned('a', 'r3'), old('b'), done('c')],
      leaves: ['a:r3'],
    },
    {
      so: 'are made good where somebody has edited them out, twice or otherwise',
      nodes: [cordoned('a'), cordoned('b', 'r2'), old('c')],
      waiting: [waits('c')],
      grants: [grantOf('a'), grantOf('a', 'r9')],
      leaves: ['a:r1', 'b:r2'],
    },
    {
      so: 'cost no room for a node that an update has left out of service',
      nodes: [
        failed('left', { cordonedBy: 'update-node/left', annotations: retried }),
        cordoned('a'),
      ],
      waiting: [waits('left', 'r2'), waits('a')],
      grants: [grantOf('left'), grantOf('a')],
      max: 1,
      leaves: ['a:r1', 'left:r2'],
    },
    {
      so: 'are not given to a node that has gone down by itself while its update waited',
      nodes: [old('a', { ready: 'False' }), old('b')],
      waiting: [waits('a'), waits('b')],
      leaves: ['b:r1'],
    },
    {
      so: 'pass to the next run of a node once the run before is known to be closed',
      nodes: [cordoned('a'), old('b')],
      waiting: [waits('a', 'r2')],
      grants: [grantOf('a'), grantOf('b')],
      closed: ['r1'],
      leaves: ['b:r1', 'a:r2'],
    },
    {
      so: 'pass without a question to a run that began later, because of one node only one update runs',
      nodes: [cordoned('a')],
      waiting: [waits('a', 'r2')],
      grants: [grantOf('a')],
      leaves: ['a:r2'],
    },
    {
      so: 'do not pass to one that began before: the clock was set back, or the picture is behind',
      nodes: [cordoned('a', 'r2')],
      waiting: [waits('a', 'r1')],
      grants: [grantOf('a', 'r2')],
      open: [open('a')],
      leaves: ['a:r2'],
    },
    {
      so: 'pass also in a pool that stands still, because the node is half done',
      nodes: [cordoned('a'), old('b')],
      waiting: [waits('a', 'r2'), waits('b')],
      grants: [grantOf('a')],
      closed: ['r1'],
      paused: true,
      leaves: ['a:r2'],
    },
    {
      so: 'pass to the run that takes a held node back',
      nodes: [cordoned('a', 'r1', { annotations: held })],
      waiting: [waits('a', 'r2', A)],
      grants: [grantOf('a')],
      closed: ['r1'],
      leaves: ['a:r2'],
    },
    {
      so: 'are not given to a run that began before the one that has marked the node',
      nodes: [done('other'), failed('a', { desired: C }, 'r2')],
      waiting: [waits('a', 'r1')],
      leaves: [],
    },
    {
      so: 'are given to such a run when Temporal lists it: its clock was set back',
      nodes: [failed('a', { desired: C }, 'r2')],
      waiting: [waits('a', 'r1')],
      open: [open('a')],
      leaves: ['a:r1'],
    },
    {
      so: 'are not given to a run that has given the node back',
      nodes: [failed('a', { annotations: retried })],
      waiting: [waits('a')],
      leaves: [],
    },
    {
      so: 'are given to no run that is closed',
      nodes: [old('a'), old('b')],
      waiting: [waits('a', 'r1'), waits('b', 'r2')],
      closed: ['r1'],
      max: 1,
      leaves: ['b:r2'],
    },
    {
      so: 'are not given for another config than the one of the pool',
      nodes: [old('a')],
      waiting: [waits('a', 'r1', C)],
      leaves: [],
    },
    {
      so: 'are given to nobody while the pool is paused',
      nodes: [old('a')],
      waiting: [waits('a')],
      paused: true,
      leaves: [],
    },
    {
      so: 'are given to one canary first',
      nodes: [old('a'), old('b')],
      waiting: [waits('a'), waits('b')],
      policy: { canaryNodes: 1 },
      leaves: ['a:r1'],
    },
    {
      so: 'are given to all others once it is verified',
      nodes: [done('a'), old('b'), old('c')],
      waiting: [waits('b'), waits('c')],
      policy: { canaryNodes: 1 },
      leaves: ['b:r1', 'c:r1'],
    },
    {
      so: 'go to the next canary when one has failed and is out of service',
      nodes: [failed('a', { cordonedBy: 'update-node/a' }), old('b'), old('c')],
      waiting: [waits('b'), waits('c')],
      grants: [grantOf('a')],
      policy: { canaryNodes: 1 },
      max: 3,
      leaves: ['a:r1', 'b:r1'],
    },
    {
      so: 'are given to one canary at a time of those that are out of service and told to try again',
      nodes: ['a', 'b'].map((name) =>
        failed(name, { cordonedBy: 'update-node/n', annotations: retried }),
      ),
      waiting: [waits('a', 'r2'), waits('b', 'r2')],
      grants: [grantOf('a'), grantOf('b')],
      policy: { canaryNodes: 1 },
      max: 2,
      leaves: ['b:r1', 'a:r2'],
    },
    {
      so: 'wait for a canary that was lost',
      nodes: [cordoned('a'), old('b')],
      waiting: [waits('b')],
      closed: ['r1'],
      policy: { canaryNodes: 1 },
      leaves: ['a:r1'],
    },
    {
      so: 'stop at the threshold, but for a node that a person told to try',
      nodes: [failed('a'), failed('b', { annotations: retried }), old('c')],
      waiting: [waits('b', 'r2'), waits('c')],
      leaves: ['b:r2'],
    },
    {
      so: 'do not count a failed host that was never heard against the config',
      nodes: [
        failed('a', { current: '', reason: 'HostUnreachable: silent' }),
        failed('b', { current: '', reason: 'HostUnreachable: silent' }),
        old('c'),
      ],
      waiting: [waits('c')],
      leaves: ['c:r1'],
    },
    {
      so: 'that take nothing out of service cost no room, and are few at once',
      nodes: [cordoned('a'), old('b'), old('c'), old('d')],
      waiting: [waits('b', 'r1', B, true), waits('c', 'r1', B, true), waits('d', 'r1', B, true)],
      grants: [grantOf('a')],
      max: 1,
      policy: { prepareAhead: 2 },
      leaves: ['a:r1', 'b:r1', 'c:r1'],
    },
    {
      so: 'leave the control plane its quorum, whatever the pool says',
      nodes: ['a', 'b', 'c'].map((name) =>
        old(name, { labels: { 'node-role.kubernetes.io/control-plane': '' } }),
      ),
      waiting: [waits('a'), waits('b'), waits('c')],
      max: 3,
      leaves: ['a:r1'],
    },
    {
      so: 'come last for a node whose drain timed out',
      nodes: [
        old('a', { annotations: { [ANNOTATION.DRAIN_TIMED_OUT]: '2029-06-01T10:00:00Z' } }),
        old('b'),
      ],
      waiting: [waits('a'), waits('b')],
      max: 1,
      leaves: ['b:r1'],
    },
  ];

  it.each(rows)('$so', ({ so, leaves, ...situation }) => {
    expect([so, ...grantsOf(decideOn(situation))]).toEqual([so, ...leaves]);
  });

  it('keep a larger maxUnavailable to a thousand', () => {
    const names = Array.from({ length: 1100 }, (_, index) => `n${String(index).padStart(4, '0')}`);
    const decision = decideOn({
      nodes: names.map((name) => old(name)),
      waiting: names.map((name) => waits(name)),
      max: 1100,
    });

    expect(decision.status.grants).toHaveLength(1000);
    expect(decision.status.counts).toMatchObject({ mayBeOut: 1000, waiting: 100 });
  });
});

describe('the updates that should run', () => {
  const rows: readonly (Situation & { so: string; starts: readonly string[] })[] = [
    {
      so: 'are the first of the open nodes, as many as may be prepared ahead',
      nodes: ['a', 'b', 'c', 'd'].map((name) => old(name)),
      starts: ['a', 'b'],
    },
    {
      so: 'are fewer while others wait for a grant, which are named until they run',
      nodes: ['a', 'b', 'c', 'd'].map((name) => old(name)),
      waiting: [waits('a')],
      policy: { prepareAhead: 2 },
      max: 1,
      grants: [grantOf('d')],
      starts: ['a', 'b'],
    },
    {
      so: 'are those that wait already, for a moment after a grant: nodes that come and go need the cluster',
      nodes: ['a', 'b', 'c', 'd'].map((name) => old(name)),
      waiting: [waits('b')],
      policy: { prepareAhead: 3 },
      max: 1,
      grants: [grantOf('a', 'r1', { grantedAt: NOW })],
      starts: ['b'],
    },
    {
      so: 'are put off for no grant that leaves nobody to take the next',
      nodes: ['a', 'b', 'c', 'd'].map((name) => old(name)),
      policy: { prepareAhead: 2 },
      max: 1,
      grants: [grantOf('a', 'r1', { grantedAt: NOW })],
      starts: ['b', 'c'],
    },
    {
      so: 'are none of a node that has a grant',
      nodes: [old('a'), old('b')],
      grants: [grantOf('a')],
      starts: ['b'],
    },
    {
      so: 'are those of all nodes that an update left out of service or that a person told to try',
      nodes: [
        failed('left', { desired: C, cordonedBy: 'update-node/left' }),
        failed('told', { annotations: retried }),
        failed('again', { annotations: retried }),
        old('b'),
      ],
      max: 1,
      policy: { failureThreshold: 5 },
      starts: ['left', 'again', 'told', 'b'],
    },
    {
      so: 'are none of failed, held, blocked and updated nodes',
      nodes: [
        failed('failed'),
        old('held', { annotations: held }),
        old('theirs', { cordoned: true }),
        old('away', { ready: 'False' }),
        known(aNewNode('joining', { ready: 'Unknown' })),
        done('done'),
      ],
      policy: { failureThreshold: 5 },
      starts: [],
    },
    {
      so: 'are none in a pool that is paused, but for a node that a lost update has left cordoned',
      nodes: [cordoned('a'), old('b'), failed('told', { annotations: retried })],
      grants: [grantOf('a')],
      closed: ['r1'],
      paused: true,
      starts: ['a'],
    },
    {
      so: 'are none of a node that serves and that a lost update has taken: its run is closed first',
      nodes: [
        old('a', {
          ...{ desired: B, state: 'Working' },
          annotations: { [ANNOTATION.UPDATE_RUN]: markOf(aRun('r1')) },
        }),
      ],
      grants: [grantOf('a')],
      closed: ['r1'],
      paused: true,
      starts: [],
    },
    {
      so: 'take a node up that is out of service without a cordon, also in a paused pool',
      nodes: [
        old('a', {
          ...{ desired: B, state: 'Working', ready: 'False' },
          annotations: { [ANNOTATION.UPDATE_RUN]: markOf(aRun('r1')) },
        }),
      ],
      grants: [grantOf('a')],
      closed: ['r1'],
      paused: true,
      starts: ['a'],
    },
    {
      so: 'settle what a closed run has left half done, also in a paused pool',
      nodes: [old('a', { desired: B, state: 'Working' }), old('b')],
      paused: true,
      starts: ['a'],
    },
    {
      so: 'take a held node back that a lost update has left cordoned',
      nodes: [cordoned('a', 'r1', { annotations: held })],
      grants: [grantOf('a')],
      closed: ['r1'],
      starts: [`a ${A} back`],
    },
    {
      so: 'take such a node back when a person has cancelled the rollout',
      nodes: [cordoned('a'), old('b')],
      grants: [grantOf('a')],
      closed: ['r1'],
      annotations: { [ANNOTATION.ROLLOUT_CANCELLED]: B },
      starts: [`a ${A} back`],
    },
    {
      so: 'are none of a node whose lost update has not taken it: its run is closed first',
      nodes: [old('a')],
      grants: [grantOf('a')],
      closed: ['r1'],
      max: 1,
      starts: [],
    },
    {
      so: 'are none while the rollout is halted',
      nodes: [failed('a'), failed('b'), old('c')],
      starts: [],
    },
    {
      so: 'are those of hosts that were never heard at last, and of nodes that serve half done first',
      nodes: [
        old('a'),
        known(aNewNode('silent', { ready: 'True' })),
        old('half', { desired: B, state: 'Working' }),
      ],
      max: 3,
      starts: ['half', 'a', 'silent'],
    },
  ];

  it.each(rows)('$so', ({ so, starts, ...situation }) => {
    expect([so, ...startsOf(decideOn(situation))]).toEqual([so, ...starts]);
  });
});

describe('a run that may have ended without a word', () => {
  it('is in doubt when Temporal does not list it, although it had its grant by then', () => {
    const { inDoubt } = decideOn({
      nodes: [cordoned('a', 'r1'), cordoned('b', 'r2'), cordoned('c', 'r3'), done('d', {}, 'r4')],
      grants: [
        grantOf('a', 'r1'),
        grantOf('b', 'r2'),
        grantOf('c', 'r3', { grantedAt: NOW }),
        grantOf('d', 'r4'),
      ],
      open: [open('a', 'r1')],
      max: 4,
    });

    expect(inDoubt.map(({ node }) => node)).toEqual(['b']);
  });

  it('is in doubt when another run waits that seems to be earlier', () => {
    const { inDoubt } = decideOn({
      nodes: [cordoned('a', 'r2')],
      waiting: [waits('a', 'r1')],
      grants: [grantOf('a', 'r2')],
      open: [open('a', 'r1'), open('a', 'r2')],
    });

    expect(inDoubt.map(({ run }) => run)).toEqual(['r2']);
  });

  it('is said to be over on its Node where it has cordoned nothing', () => {
    const decision = decideOn({ nodes: [old('a')], grants: [grantOf('a')], closed: ['r1'] });

    expect(decision.close).toEqual([grantOf('a')]);
    expect(grantsOf(decision)).toEqual(['a:r1']);
  });
});

describe('an update that should not run', () => {
  const cancelled = (situation: Situation) =>
    decideOn(situation).cancel.map(({ node, reason }) => `${node}: ${reason}`);

  it('is that of a node that is gone, recreated or held, or that is to go to another config', () => {
    const found = cancelled({
      nodes: [old('again'), old('held', { annotations: held }), old('late'), old('good')],
      open: [
        open('gone'),
        { ...open('again'), uid: 'another' },
        open('held'),
        open('late', 'r1', C),
        open('good'),
      ],
    });

    expect(found).toEqual([
      'gone: node gone is in pool worker no more',
      'again: node again was deleted, and there is another one of its name now',
      'held: skipped: disk',
      `late: the pool is rolled to ${B} now`,
    ]);
  });

  it('is each one of a cancelled rollout, but not one that takes a node back', () => {
    const found = cancelled({
      nodes: [cordoned('a'), cordoned('b')],
      open: [open('a'), { ...open('b', 'r2', A), takesBack: true }],
      annotations: { [ANNOTATION.ROLLOUT_CANCELLED]: B },
    });

    expect(found).toEqual(['a: a person cancelled the rollout']);
  });

  it('is one that takes a node back which has been given back meanwhile', () => {
    const nodes = [old('a')];
    const open = [{ node: 'a', run: 'r2', config: A, takesBack: true as const }];

    expect(cancelled({ nodes, open })).toEqual(['a: there is nothing left to take back']);
  });
});

describe('the end of a rollout', () => {
  const cancelled = { [ANNOTATION.ROLLOUT_CANCELLED]: B };
  const manual = { trigger: 'Manual' } as const;
  const rows: readonly (Situation & { so: string; ended: string | undefined })[] = [
    {
      so: 'is there when every node is on the config and nothing runs',
      nodes: [done('a'), done('b')],
      ended: 'completed',
    },
    {
      so: 'is not there while an update runs',
      nodes: [done('a')],
      open: [open('a', 'r2')],
      ended: undefined,
    },
    {
      so: 'is there although Temporal still lists an update that has said that it is over',
      nodes: [done('a')],
      open: [open('a')],
      ended: 'completed',
    },
    {
      so: 'is there although an update runs whose Node is gone',
      nodes: [done('a')],
      open: [open('b', 'r2')],
      ended: 'completed',
    },
    {
      so: 'is not there while an update that has just said that it is prepared may not be listed yet',
      nodes: [done('a')],
      waiting: [waits('a', 'r2')],
      listedAt: '2029-06-01T00:00:20Z',
      ended: undefined,
    },
    {
      so: 'is there when such an update would be listed by now',
      nodes: [done('a')],
      waiting: [waits('a', 'r2')],
      ended: 'completed',
    },
    {
      so: 'is not there while an update of the config before may not be listed yet',
      nodes: [done('a')],
      before: { config: A },
      ended: undefined,
    },
    {
      so: 'is not there while one may not be listed yet that was started just before a person cancelled',
      nodes: [old('a')],
      annotations: cancelled,
      before: { startedAt: '2029-06-01T23:59:58Z' },
      ended: undefined,
    },
    {
      so: 'is there when every node has been updated since the pool got its config',
      nodes: [done('a')],
      before: { startedAt: '2029-06-01T00:00:00Z' },
      listedAt: '2029-06-01T00:00:03Z',
      ended: 'completed',
    },
    {
      so: 'is not there while a node is left alone',
      nodes: [done('a'), old('c', { cordoned: true })],
      ended: undefined,
    },
    {
      so: 'is there for a cancelled one when its updates have ended',
      nodes: [old('a')],
      annotations: cancelled,
      ended: 'cancelled',
    },
    {
      so: 'is not there for a cancelled one before that',
      nodes: [cordoned('a')],
      annotations: cancelled,
      ended: undefined,
    },
    {
      so: 'is there for one that a person has cancelled, although the pool has another config by now',
      nodes: [old('a')],
      annotations: { [ANNOTATION.ROLLOUT_CANCELLED]: A },
      isCancelled: true,
      ended: 'cancelled',
    },
    {
      so: 'is not there where another config was cancelled',
      nodes: [old('a')],
      annotations: { [ANNOTATION.ROLLOUT_CANCELLED]: A },
      ended: undefined,
    },
    {
      so: 'is there for one that a person has to start, and nobody has',
      nodes: [old('a')],
      policy: manual,
      ended: 'not started',
    },
    {
      so: 'is not there for such a one while an update runs',
      nodes: [cordoned('a')],
      policy: manual,
      grants: [grantOf('a')],
      ended: undefined,
    },
    {
      so: 'is not there for one that a person has started, whatever config it was then',
      nodes: [old('a')],
      policy: manual,
      annotations: { [ANNOTATION.ROLLOUT_STARTED]: A },
      ended: undefined,
    },
    { so: 'is not there for a paused one', nodes: [old('a')], paused: true, ended: undefined },
    { so: 'is not there for a halted one', nodes: [failed('a'), failed('b')], ended: undefined },
  ];

  it.each(rows)('$so', ({ so, ended, ...situation }) => {
    expect([so, decideOn(situation).ended]).toEqual([so, ended]);
  });

  it('begins nothing on the way there', () => {
    for (const how of [{ policy: manual }, { isCancelled: true }]) {
      const { start, granted } = decideOn({
        nodes: [old('a'), old('b')],
        waiting: [waits('a')],
        ...how,
      });
      expect([start, granted]).toEqual([[], []]);
    }
  });

  it('says how far it is', () => {
    const { status } = decideOn({ nodes: [done('a'), done('b')] });
    expect(status).toMatchObject({ state: 'Completed', done: '2/2' });

    const unstarted = decideOn({ nodes: [old('a')], policy: manual }).status;
    expect(unstarted.blocker).toBe('pool worker waits for a person: slipway rollout start worker');
  });
});

describe('what a rollout says', () => {
  it('counts, names the failed and says what it waits for', () => {
    const { status } = decideOn({
      nodes: [done('a'), cordoned('b'), old('c'), failed('d'), old('e', { annotations: held })],
      waiting: [waits('b'), waits('c')],
      grants: [grantOf('b')],
      max: 1,
    });

    expect(status).toMatchObject({
      ...{ config: B, state: 'Rolling', done: '1/5' },
      counts: {
        machines: 5,
        updated: 1,
        outOfService: 1,
        mayBeOut: 1,
        waiting: 1,
        failed: 1,
        held: 1,
      },
      failed: [{ node: 'd', reason: 'VerifyFailed: no' }],
      held: [{ node: 'e', reason: 'skipped: disk' }],
    });
  });

  it('begins anew with another config', () => {
    const before = { config: C, startedAt: '2029-01-01T00:00:00Z' };

    expect(decideOn({ nodes: [old('a')], before }).status.startedAt).toBe('2029-06-02T00:00:00Z');
    expect(decideOn({ nodes: [old('a')], before: { ...before, config: B } }).status.startedAt).toBe(
      before.startedAt,
    );
  });

  it('looks again soon while something runs, else late', () => {
    expect(decideOn({ nodes: [cordoned('a')] }).lookAgainSeconds).toBe(10);
    expect(decideOn({ nodes: [old('a')], paused: true }).lookAgainSeconds).toBe(600);
    const grants = [grantOf('a', 'r1', { grantedAt: NOW })];
    const putOff = { nodes: [old('a'), old('b'), old('c')], waiting: [waits('b')], max: 1, grants };
    expect(decideOn({ ...putOff, policy: { prepareAhead: 2 } }).lookAgainSeconds).toBe(1);
  });
});

describe('what a PoolRollout says', () => {
  const annotations = { [ANNOTATION.ROLLOUT_CANCELLED]: B };

  it('is Blocked, and not Cancelling, once a cancelled rollout has ended', () => {
    const { status, ended } = decideOn({ nodes: [old('a')], annotations });

    expect([status.state, ended]).toEqual(['Blocked', 'cancelled']);
    expect(status.blocker).toContain('slipway rollout start worker');
  });

  it('counts those that wait, also in a paused pool', () => {
    const { status } = decideOn({ nodes: [old('a')], waiting: [waits('a')], paused: true });

    expect([status.state, status.counts.waiting]).toEqual(['Paused', 1]);
  });

  it('counts no node as failed that was tried again and is on the config', () => {
    const nodes = [done('a', { annotations: { [ANNOTATION.RETRY_FOR]: B } }), old('b')];
    const { status } = decideOn({ nodes, policy: { failureThreshold: 1 } });

    expect(status.state).toBe('Rolling');
  });

  it('begins anew when a completed pool has something to do again', () => {
    const nodes = [done('a'), old('b')];

    expect(decideOn({ nodes, before: { state: 'Completed' } }).status.startedAt).toBe(NOW);
    expect(decideOn({ nodes }).status.startedAt).not.toBe(NOW);
  });
});

describe('a pool whose members nobody knows', () => {
  const unreadable = 'pool worker: spec.nodeSelector needs values';
  const situation = { nodes: [], grants: [grantOf('a')], open: [open('a')], unreadable };

  it('stands still, with its grants, and says why', () => {
    const decision = decideOn(situation);

    expect(grantsOf(decision)).toEqual(['a:r1']);
    expect(decision).toMatchObject({ grantsChanged: false, start: [], cancel: [], close: [] });
    expect(decision.ended).toBeUndefined();
    expect(decision.status).toMatchObject({ state: 'Blocked', blocker: unreadable });
    const { conditions = [] } = decision.status;
    expect(conditions.find(({ type }) => type === 'Progressing')).toMatchObject({
      status: 'False',
      message: unreadable,
    });
  });

  it('lets a person cancel its rollout', () => {
    const cancelled = { ...situation, isCancelled: true };

    expect(decideOn(cancelled).cancel).toMatchObject([{ node: 'a', run: 'r1' }]);
    expect(decideOn(cancelled).ended).toBeUndefined();
    expect(decideOn({ ...cancelled, grants: [], open: [] }).ended).toBe('cancelled');
  });

  it('says so of a rollout that has just begun', () => {
    const { status } = decideOn({ nodes: [], unreadable });

    expect(status).toMatchObject({ state: 'Blocked', blocker: unreadable, grants: [] });
  });
});
