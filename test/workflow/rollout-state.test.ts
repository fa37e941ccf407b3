import { DEFAULT_POLICY } from '../../core/rollout';
import type { PoolLook } from '../../workflows/contracts/cluster';
import { failedCount, failedReasons } from '../../workflows/left-out-nodes';
import type { NodeReport, Prepared } from '../../workflows/messages';
import {
  candidatesWanted,
  toFinish,
  toGrant,
  toStart,
  waitingInStandstill,
} from '../../workflows/rollout-decisions';
import { progressOf } from '../../workflows/rollout-progress';
import { rolloutDetails } from '../../workflows/rollout-details';
import { Rollout } from '../../workflows/rollout-state';
import { containing } from './support/containing';

beforeEach(() => {
  jest.useFakeTimers({ now: new Date('2026-01-01T00:00:00Z') });
});
afterEach(() => {
  jest.useRealTimers();
});

function aView(overrides: Partial<PoolLook> = {}): PoolLook {
  return {
    config: { name: 'c2', digest: 'd2' },
    paused: false,
    policy: { ...DEFAULT_POLICY, canaryNodes: 0 },
    disruptionPolicies: {},
    maxUnavailable: 1,
    machineCount: 3,
    updated: 0,
    unavailable: [],
    outdated: [],
    unavailableBecause: [],
    digests: {},
    // Newer than whatever is told of a node.
    versions: { nodes: 1_000_000, pools: 0, policies: 0 },
    downOtherwiseCount: 0,
    countedDown: [],
    candidates: [],
    candidateCount: 0,
    failed: [],
    failedCount: 0,
    held: [],
    heldCount: 0,
    blocked: [],
    blockedCount: 0,
    ...overrides,
  };
}

function withoutConfig(view: PoolLook): PoolLook {
  return Object.fromEntries(Object.entries(view).filter(([name]) => name !== 'config')) as never;
}

function aReport(node: string, overrides: Partial<NodeReport> = {}): NodeReport {
  return {
    node,
    runId: `run-of-${node}`,
    config: 'c2',
    outcome: 'updated',
    inServiceAt: '7',
    phases: [],
    disruption: 'reboot',
    startedAt: '2026-01-01T00:00:00Z',
    finishedAt: new Date(Date.now()).toISOString(),
    ...overrides,
  };
}

type Told = Omit<Prepared, 'stage' | 'runId'> & Partial<Prepared>;

function said(told: Told): Prepared {
  const stage = told.holdsSlot ? 'working' : 'waiting';
  return { stage, runId: `run-of-${told.node}`, ...told };
}

function aRollout(view = aView()): Rollout {
  const rollout = new Rollout({ pool: 'worker' });
  rollout.learned();
  rollout.accept(view);
  return rollout;
}

/** Started, prepared, and granted a slot. */
function work(rollout: Rollout, node: string): void {
  rollout.start(node, 'c2');
  rollout.started(node, `run-of-${node}`);
  rollout.prepared(said({ node, config: 'c2', holdsSlot: false }));
  rollout.grant(node);
}

const candidate = (node: string, repair = false) => ({ node, repair });

describe('a drain that timed out', () => {
  const timedOut = (isTriedAgain: boolean) =>
    aReport('a', { outcome: 'failed', failure: 'DrainTimedOut', isTriedAgain });

  it('has failed when its update says so, also before the first look of a new run', () => {
    const rollout = new Rollout({ pool: 'worker', carry: aRollout().carry() });

    rollout.finished(timedOut(false));

    expect([...rollout.failed.keys()]).toEqual(['a']);
    expect([...rollout.deferred.keys()]).toEqual([]);
  });

  it('is tried again when its update says so, whatever the policy is by now', () => {
    const drain = { ...DEFAULT_POLICY.drain, onTimeout: 'Fail' as const };
    const rollout = aRollout(aView({ policy: { ...DEFAULT_POLICY, drain } }));

    rollout.finished(timedOut(true));

    expect([...rollout.deferred.keys()]).toEqual(['a']);
  });
});

describe('a rollout without a free slot', () => {
  const oneWaits = (rollout: Rollout): void => {
    rollout.start('a', 'c2');
    rollout.prepared(said({ node: 'a', config: 'c2', holdsSlot: false }));
  };

  it('names the nodes that take the slots, and why', () => {
    const rollout = aRollout(
      aView({
        unavailable: ['x'],
        unavailableBecause: [{ node: 'x', reason: 'not Ready since noon' }],
      }),
    );
    oneWaits(rollout);

    expect(progressOf(rollout)).toMatchObject({
      state: 'Blocked',
      blocker: 'no free slot: 1 node of at most 1 unavailable: x (not Ready since noon)',
    });
  });

  it('names the rendered config that does not exist any more', () => {
    const rollout = aRollout();
    rollout.accept(withoutConfig(aView({ candidateCount: 1 })));

    expect(progressOf(rollout)).toMatchObject({
      state: 'Rolling',
      config: 'c2',
      blocker: containing('waiting for the rendered config of pool worker, which does not exist'),
    });
  });

  it('names a slot that an update left behind, which the view does not show', () => {
    const rollout = aRollout();
    work(rollout, 'b');
    rollout.vanished('b');
    oneWaits(rollout);

    expect(progressOf(rollout)).toMatchObject({
      state: 'Blocked',
      blocker:
        'no free slot: 1 node of at most 1 unavailable: ' +
        'b (its update ended without putting it back in service)',
    });
  });
});

describe('a prepared update without a slot', () => {
  it('is told whom it waits for, not while the whole rollout waits for a person', () => {
    const rollout = aRollout();
    work(rollout, 'b');
    rollout.start('a', 'c2');
    rollout.prepared(said({ node: 'a', config: 'c2', holdsSlot: false }));
    const blockerOf = (node: string) =>
      progressOf(rollout).children.find((child) => child.node === node)?.blocker;

    expect(blockerOf('a')).toBe('waiting for a slot: maxUnavailable is 1; holding a slot: b');
    expect(blockerOf('b')).toBeUndefined();

    rollout.wishPaused(true, 'freeze');
    expect(blockerOf('a')).toBeUndefined();
  });
});

describe('an update that has not answered', () => {
  const START = 'waiting for Temporal to start its update';
  const ANSWER = 'waiting for its update, which ran already, to say how far it is';

  it('is waited for by name when Temporal has not confirmed its start', () => {
    const rollout = aRollout();

    rollout.start('a', 'c2');

    expect(progressOf(rollout)).toMatchObject({
      ...{ state: 'Rolling', blocker: `a: ${START}` },
      children: [{ node: 'a', blocker: START }],
    });
  });

  it('is waited for by name when it ran already', () => {
    const rollout = aRollout();
    rollout.start('a', 'c2');

    rollout.adopt('a');

    expect(progressOf(rollout)).toMatchObject({
      ...{ state: 'Rolling', blocker: `a: ${ANSWER}` },
      children: [{ node: 'a', blocker: ANSWER }],
    });
  });

  const twoMeet = (): Rollout => {
    const rollout = aRollout(aView({ maxUnavailable: 2 }));
    rollout.adopt('a');
    rollout.start('b', 'c2');
    rollout.prepared(said({ node: 'b', config: 'c2', holdsSlot: false }));
    return rollout;
  };

  it('keeps others from their slots for a minute: it may try a failed node again', () => {
    const rollout = twoMeet();
    expect(toGrant(rollout)).toEqual([]);

    jest.advanceTimersByTime(60_000);
    expect(toGrant(rollout)).toEqual(['b']);
  });

  it('keeps none once it has answered, unless it tries a failed node again', () => {
    const rollout = twoMeet();
    const answer = { node: 'a', config: 'c2', holdsSlot: true } as const;
    rollout.prepared(said(answer));
    expect(toGrant(rollout)).toEqual(['b']);

    const retried = twoMeet();
    retried.accept(
      aView({ maxUnavailable: 2, policy: { ...aView().policy, failureThreshold: 1 } }),
    );
    retried.prepared(said({ ...answer, triedAgain: true }));
    expect(progressOf(retried)).toMatchObject({ state: 'Halted', triedAgain: ['a'] });
    expect(toGrant(retried)).toEqual([]);
  });

  it('is not what a rollout waits for in which another one is at work', () => {
    const rollout = aRollout();
    work(rollout, 'b');

    rollout.start('a', 'c2');

    expect(progressOf(rollout)).not.toHaveProperty('blocker');
  });
});

describe('a rollout with more failed nodes than are listed', () => {
  it('counts them all', () => {
    const rollout = aRollout(
      aView({
        ...{ machineCount: 200, policy: { ...DEFAULT_POLICY, failureThreshold: 60 } },
        ...{ failed: [{ node: 'x', reason: 'boom' }], failedCount: 60 },
      }),
    );

    expect(progressOf(rollout)).toMatchObject({
      state: 'Halted',
      blocker: containing('60 nodes failed on c2 (the limit is 60): x and 59 more'),
    });
  });
});

describe('slots', () => {
  it('count until the report, whatever the view shows', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    rollout.start('b', 'c2');
    rollout.prepared(said({ node: 'b', config: 'c2', holdsSlot: false }));

    expect(toGrant(rollout)).toEqual([]);

    rollout.finished(aReport('a'));
    expect(toGrant(rollout)).toEqual(['b']);
  });

  it('are not free when the node went down after its report', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    rollout.finished(aReport('a'));
    rollout.start('b', 'c2');
    rollout.prepared(said({ node: 'b', config: 'c2', holdsSlot: false }));

    rollout.accept(aView({ unavailable: ['a'] }), rollout.seenSince());

    expect(toGrant(rollout)).toEqual([]);
  });

  it('tell the next look in which version a node was seen in service, until it is as new', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    rollout.finished(aReport('a'));
    const told = rollout.seenSince();
    expect(told).toEqual([{ node: 'a', resourceVersion: '7' }]);

    // A check that began before the report says nothing about it.
    rollout.accept(aView({ unavailable: ['a'] }));
    expect(rollout.seenSince()).toEqual(told);
    rollout.accept(aView({ outdated: ['a'] }), told);
    expect(rollout.seenSince()).toEqual(told);

    rollout.accept(aView(), told);
    expect(rollout.seenSince()).toEqual([]);
  });

  it('of an update that has not answered count for the canary of whatever config', () => {
    const policy = { ...aView().policy, canaryNodes: 1 };
    const rollout = aRollout(aView({ policy, maxUnavailable: 2 }));
    rollout.adopt('a');
    rollout.accept(aView({ policy, maxUnavailable: 2, config: { name: 'c3', digest: 'd3' } }));
    rollout.start('b', 'c3');
    rollout.prepared(said({ node: 'b', config: 'c3', holdsSlot: false }));
    expect(toGrant(rollout)).toEqual([]);

    rollout.prepared(said({ node: 'a', config: 'c2', holdsSlot: true }));

    expect(toGrant(rollout)).toEqual(['b']);
  });

  it('of a node that was left out of service count until the view shows it so', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    rollout.finished(aReport('a', { outcome: 'failed', hostIsBack: false, reason: 'lost' }));
    rollout.start('b', 'c2');
    rollout.prepared(said({ node: 'b', config: 'c2', holdsSlot: false }));

    rollout.accept(aView());
    expect(rollout.holders()).toEqual(['a']);
    expect(toGrant(rollout)).toEqual([]);

    rollout.accept(aView({ unavailable: ['a'] }));
    expect(rollout.holders()).toEqual([]);
    expect(toGrant(rollout)).toEqual([]);
  });

  it('of a node that was left out of service are free when a view as new shows it in service', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    const { inServiceAt, ...report } = aReport('a', { outcome: 'failed', reason: 'lost' });
    rollout.finished({ ...report, hostIsBack: false, leftAt: `${inServiceAt}1` });
    const told = rollout.seenSince();
    expect(told).toEqual([{ node: 'a', resourceVersion: '71' }]);

    // A check that began before the report says nothing about it.
    rollout.accept(aView());
    expect(rollout.holders()).toEqual(['a']);
    rollout.accept(aView({ outdated: ['a'] }), told);
    expect(rollout.holders()).toEqual(['a']);
    const next = new Rollout({ pool: 'worker', carry: rollout.carry() });

    for (const each of [rollout, next]) {
      each.accept(aView(), each.seenSince());
      expect(each.holders()).toEqual([]);
      expect(each.seenSince()).toEqual([]);
    }
  });

  it('of a node that was left out of service go to its next update', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    rollout.finished(aReport('a', { outcome: 'failed', hostIsBack: false, reason: 'lost' }));

    rollout.start('a', 'c2');
    rollout.prepared(said({ node: 'a', config: 'c2', holdsSlot: false }));

    expect(toGrant(rollout)).toEqual(['a']);
  });

  it('that cost nothing and were given back are given again only when one is free', () => {
    const rollout = aRollout(aView({ unavailable: ['a', 'z'] }));
    work(rollout, 'a');
    rollout.prepared(said({ node: 'a', config: 'c2', holdsSlot: false, returned: true }));

    rollout.accept(aView({ unavailable: ['z'] }));
    expect(toGrant(rollout)).toEqual([]);

    rollout.accept(aView());
    expect(toGrant(rollout)).toEqual(['a']);
  });

  it('that were given before are returned too late to take the one that was given since', () => {
    const policy = { ...DEFAULT_POLICY, canaryNodes: 1 };
    const rollout = aRollout(aView({ policy, maxUnavailable: 2 }));
    rollout.start('v', 'c2');
    rollout.prepared(said({ node: 'v', config: 'c2', holdsSlot: false, stage: 'preparing' }));
    const waits = { node: 'u', config: 'c2', holdsSlot: false };
    rollout.adopt('u');
    rollout.prepared(said(waits));
    expect(toGrant(rollout)).toEqual(['u']);
    jest.advanceTimersByTime(1_000);
    rollout.grant('u');
    rollout.prepared(said({ node: 'v', config: 'c2', holdsSlot: false }));
    const given = rollout.children.get('u')?.grantedAt ?? '';
    expect(given).toBe('2026-01-01T00:00:01.000Z');

    for (const ms of [0, 600_000]) {
      jest.advanceTimersByTime(ms);
      // That one was given to the same update by the rollout before.
      rollout.prepared(said({ ...waits, returned: true, grantedAt: '2026-01-01T00:00:00.000Z' }));
      expect(rollout.holders()).toEqual(['u']);
      expect(toGrant(rollout)).toEqual([]);
    }

    rollout.prepared(said({ ...waits, returned: true, grantedAt: given }));
    expect(rollout.holders()).toEqual([]);
    expect(toGrant(rollout)).toEqual(['v']);
  });

  it('are named as they were also in the next run, and may be returned without a name', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    const next = new Rollout({ pool: 'worker', carry: rollout.carry() });
    expect(next.children.get('a')?.grantedAt).toBe('2026-01-01T00:00:00.000Z');

    next.prepared(said({ node: 'a', config: 'c2', holdsSlot: true }));
    expect(next.children.get('a')?.grantedAt).toBe('2026-01-01T00:00:00.000Z');
    next.prepared(said({ node: 'a', config: 'c2', holdsSlot: false, returned: true }));
    expect(next.children.get('a')).not.toHaveProperty('grantedAt');
    expect(next.holders()).toEqual([]);
  });

  it('of canaries are free for all once enough have reported, before the view shows it', () => {
    const policy = { ...DEFAULT_POLICY, canaryNodes: 1 };
    const rollout = aRollout(aView({ policy, maxUnavailable: 2 }));
    work(rollout, 'a');
    rollout.finished(aReport('a'));
    for (const node of ['b', 'c']) {
      rollout.start(node, 'c2');
      rollout.prepared(said({ node, config: 'c2', holdsSlot: false }));
    }

    expect(toGrant(rollout)).toEqual(['b', 'c']);
  });

  it('of canaries go to no other node while one stands half done without its update', () => {
    const policy = { ...DEFAULT_POLICY, canaryNodes: 1 };
    const rollout = aRollout(aView({ policy, maxUnavailable: 2 }));
    work(rollout, 'a');
    rollout.start('b', 'c2');
    rollout.prepared(said({ node: 'b', config: 'c2', holdsSlot: false }));

    rollout.vanished('a');
    expect(toGrant(rollout)).toEqual([]);
    rollout.start('a', 'c2');
    expect(toGrant(rollout)).toEqual([]);

    rollout.finished(aReport('a'));
    expect(toGrant(rollout)).toEqual(['b']);
  });

  it('of canaries are few again when the pool comes back to a config over another one', () => {
    const policy = { ...DEFAULT_POLICY, canaryNodes: 1 };
    const view = (name: string): PoolLook =>
      aView({ policy, maxUnavailable: 3, updatedNodes: [], config: { name, digest: 'd' } });
    const rollout = aRollout(view('c2'));
    rollout.finished(aReport('a'));
    jest.advanceTimersByTime(60_000);
    rollout.accept(view('c3'));
    jest.advanceTimersByTime(60_000);
    rollout.accept(view('c2'));

    for (const node of ['a', 'b', 'c']) {
      rollout.start(node, 'c2');
      rollout.prepared(said({ node, config: 'c2', holdsSlot: false }));
    }
    expect(toGrant(rollout)).toEqual(['a']);

    rollout.finished(aReport('a'));
    expect(toGrant(rollout)).toEqual(['b', 'c']);
  });

  it('are not free when the report does not say that the node is back in service', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    const report: NodeReport = aReport('a', { outcome: 'failed', reason: 'lost' });
    rollout.finished(
      JSON.parse(JSON.stringify({ ...report, inServiceAt: undefined })) as NodeReport,
    );
    expect(rollout.seenSince()).toEqual([]);
    rollout.start('b', 'c2');
    rollout.prepared(said({ node: 'b', config: 'c2', holdsSlot: false }));

    rollout.accept(aView({ unavailable: ['a'] }));

    expect(toGrant(rollout)).toEqual([]);
  });

  it('of an update that vanished count for a minute, and go to the next update of the node', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    rollout.closed('a', 'run-of-a');
    expect(rollout.holders()).toEqual(['a']);

    rollout.start('a', 'c2');
    rollout.prepared(said({ node: 'a', config: 'c2', holdsSlot: false }));

    expect(toGrant(rollout)).toEqual(['a']);
  });

  it('of an update that vanished for good are free after a minute', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    rollout.vanished('a');
    jest.advanceTimersByTime(59_999);
    rollout.expire();
    expect(rollout.holders()).toEqual(['a']);

    jest.advanceTimersByTime(1);
    rollout.expire();

    expect(rollout.holders()).toEqual([]);
  });

  it('are not taken away by the end of an earlier run of the same node', () => {
    const rollout = aRollout();
    work(rollout, 'a');

    rollout.closed('a', 'an-earlier-run');

    expect(rollout.holders()).toEqual(['a']);
    expect(rollout.children.has('a')).toBe(true);
  });

  it('are given again when an update says long after that it has none', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    rollout.prepared(said({ node: 'a', config: 'c2', holdsSlot: false }));
    expect(toGrant(rollout)).toEqual([]);

    jest.advanceTimersByTime(600_000);
    rollout.prepared(said({ node: 'a', config: 'c2', holdsSlot: false }));

    expect(toGrant(rollout)).toEqual(['a']);
    expect(rollout.holders()).toEqual(['a']);
  });

  it('are assumed for an adopted update until it answers', () => {
    const rollout = aRollout();
    rollout.adopt('a');
    expect(rollout.holders()).toEqual(['a']);

    rollout.prepared(said({ node: 'a', config: 'c2', holdsSlot: false, stage: 'preparing' }));

    expect(rollout.holders()).toEqual([]);
    expect(toGrant(rollout)).toEqual([]);
  });
});

describe('updates whose end nobody tells', () => {
  it('are the adopted and the carried ones', () => {
    const rollout = aRollout();
    work(rollout, 'started');
    rollout.adopt('adopted');
    rollout.start('starting', 'c2');
    const unwatched = (of: Rollout) => of.unwatched().map(({ node }) => node);

    expect(unwatched(rollout)).toEqual(['adopted']);
    const next = new Rollout({ pool: 'worker', carry: rollout.carry() });
    expect(unwatched(next)).toEqual(['started', 'adopted', 'starting']);
  });
});

describe('candidates', () => {
  it('do not start again while their reported update is open, or the view is behind', () => {
    const view = aView({ candidates: [candidate('a')], candidateCount: 1 });
    const rollout = aRollout(view);
    work(rollout, 'a');
    rollout.finished(aReport('a'));
    rollout.accept(view);
    expect(toStart(rollout)).toEqual([]);

    rollout.closed('a', 'run-of-a');

    expect(toStart(rollout)).toEqual([]);
    jest.advanceTimersByTime(5_000);
    rollout.accept(view);
    expect(toStart(rollout)).toEqual([candidate('a')]);
  });

  it('that were told to try again wait until the failed update has closed', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    rollout.finished(aReport('a', { outcome: 'failed' }));
    rollout.retry.add('a');
    rollout.accept(aView({ candidates: [candidate('a')], candidateCount: 1 }));
    expect(toStart(rollout)).toEqual([]);

    rollout.closed('a', 'run-of-a');

    expect(toStart(rollout)).toEqual([candidate('a')]);
  });

  it('wait while it is not known whether an adopted update holds a slot', () => {
    const rollout = aRollout();
    rollout.adopt('a');

    rollout.accept(aView({ candidates: [candidate('b')], candidateCount: 1 }));

    expect(toStart(rollout)).toEqual([]);
  });

  it('that need repair start although enough others are prepared already', () => {
    const rollout = aRollout();
    rollout.start('b', 'c2');
    rollout.prepared(said({ node: 'b', config: 'c2', holdsSlot: false }));

    rollout.accept(
      aView({ unavailable: ['a'], candidates: [candidate('a', true), candidate('c')] }),
    );

    expect(toStart(rollout)).toEqual([candidate('a', true)]);
  });

  it('are asked for in a number that does not grow with the pool', () => {
    const rollout = aRollout(aView({ machineCount: 5000, maxUnavailable: 5000 }));

    expect(candidatesWanted(rollout)).toBeLessThanOrEqual(100);
  });
});

describe('a failure', () => {
  it('is known before the view shows it, and counted once', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    rollout.finished(aReport('a', { outcome: 'failed', reason: 'disk full' }));
    expect(failedReasons(rollout)).toEqual([{ node: 'a', reason: 'disk full' }]);

    const failed = [{ node: 'a', reason: 'ApplyFailed: disk full' }];
    rollout.accept(aView({ failed, failedCount: 1 }));

    expect(failedReasons(rollout)).toEqual(failed);
    expect(failedCount(rollout)).toBe(1);
  });

  const shown = { failed: [{ node: 'a', reason: 'boom' }], failedCount: 1 };
  const asNewAs = (nodes: number) => ({ versions: { nodes, pools: 0, policies: 0 } });

  it.each([
    ['in service', { inServiceAt: '120' }],
    ['out of service', { inServiceAt: undefined, leftAt: '120' }],
  ])('is kept until a view as new shows it when its node was left %s', (_where, said) => {
    const rollout = aRollout(aView({ ...shown, ...asNewAs(90) }));
    rollout.tryAgain('a');
    work(rollout, 'a');
    const report = { ...aReport('a', { outcome: 'failed', reason: 'boom' }), ...said };
    rollout.finished(JSON.parse(JSON.stringify(report)) as NodeReport);

    // Another cluster worker still sees the earlier failure, and later the running update.
    rollout.accept(aView({ ...shown, ...asNewAs(95), outdated: ['a'] }), rollout.seenSince());
    rollout.accept(aView({ ...asNewAs(105), candidates: [candidate('a')] }), rollout.seenSince());
    expect(failedCount(rollout)).toBe(1);
    expect(rollout.isLeftOut('a')).toBe(true);

    rollout.accept(aView({ ...shown, ...asNewAs(120) }), rollout.seenSince());
    rollout.accept(aView(asNewAs(130)), rollout.seenSince());
    expect(failedCount(rollout)).toBe(0);
  });

  it('is kept for a while when its report does not say how its node was left', () => {
    const rollout = aRollout(aView(asNewAs(90)));
    work(rollout, 'a');
    const report = { ...aReport('a', { outcome: 'failed' }), inServiceAt: undefined };
    rollout.finished(JSON.parse(JSON.stringify(report)) as NodeReport);

    rollout.accept(aView({ ...shown, ...asNewAs(95) }));
    rollout.accept(aView(asNewAs(105)));
    expect(failedCount(rollout)).toBe(1);

    jest.advanceTimersByTime(300_000);
    rollout.accept(aView(asNewAs(105)));
    expect(failedCount(rollout)).toBe(0);
  });

  it('that the view never shows does not count for ever', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    rollout.finished(aReport('a', { outcome: 'failed', reason: 'node deleted' }));
    jest.advanceTimersByTime(300_000);

    rollout.accept(aView());

    expect(failedCount(rollout)).toBe(0);
  });

  it('on an earlier config says nothing about this one', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    rollout.accept(aView({ config: { name: 'c3', digest: 'd3' } }));

    rollout.finished(aReport('a', { outcome: 'failed', reason: 'disk full' }));

    expect(failedReasons(rollout)).toEqual([]);
    expect(rollout.holders()).toEqual([]);
  });
});

it('a node is not started while its retry is being written', () => {
  const rollout = aRollout(aView({ candidates: [candidate('a')], candidateCount: 1 }));
  expect(toStart(rollout)).toHaveLength(1);

  void rollout.words.accept('a', 'retry', (word) => {
    word.countsNow = true;
    return new Promise(() => undefined);
  });

  expect(toStart(rollout)).toEqual([]);
});

describe('a hold', () => {
  const shown = { held: [{ node: 'a', reason: 'skipped: of before' }], heldCount: 1 };
  const asNewAs = (nodes: number) => ({ versions: { nodes, pools: 0, policies: 0 } });
  const cancelled = (): Rollout => {
    const rollout = aRollout(aView({ ...shown, ...asNewAs(90) }));
    rollout.tryAgain('a');
    work(rollout, 'a');
    rollout.finished(aReport('a', { outcome: 'cancelled' }));
    return rollout;
  };

  it('is kept until a view shows it that is as new as it', () => {
    const rollout = cancelled();
    rollout.accept(aView({ ...shown, ...asNewAs(95) }));
    expect([...rollout.heldByUs.keys()]).toEqual(['a']);

    rollout.toHold.delete('a');
    rollout.holdIsWritten('a', '120');
    const next = new Rollout({ pool: 'worker', carry: rollout.carry() });
    for (const each of [rollout, next]) {
      each.accept(aView({ ...shown, ...asNewAs(96) }));
      each.accept(aView({ ...asNewAs(105), candidates: [candidate('a')] }));
      expect(each.isLeftOut('a')).toBe(true);

      each.accept(aView({ ...shown, ...asNewAs(120) }));
      expect([...each.heldByUs.keys()]).toEqual([]);
    }
  });
});

describe('a halted rollout', () => {
  const failed = ['a', 'b', 'c'].map((node) => ({ node, reason: 'disk full' }));
  const policy = { ...DEFAULT_POLICY, canaryNodes: 0, failureThreshold: 2 };
  const view = aView({ failed, failedCount: 3, policy });

  function aHaltedRollout(): Rollout {
    const rollout = aRollout(view);
    rollout.start('d', 'c2');
    rollout.prepared(said({ node: 'd', config: 'c2', holdsSlot: false }));
    return rollout;
  }

  it('starts and grants nothing by itself', () => {
    const rollout = aHaltedRollout();
    rollout.accept({ ...view, candidates: [candidate('e')], candidateCount: 1 });

    expect(progressOf(rollout).state).toBe('Halted');
    expect(toStart(rollout)).toEqual([]);
    expect(toGrant(rollout)).toEqual([]);
  });

  it('is none when too few of the failed nodes were ever heard: the others get their turn', () => {
    const rollout = aHaltedRollout();
    rollout.accept({ ...view, unheardCount: 2, candidates: [candidate('e')], candidateCount: 1 });

    expect(progressOf(rollout)).toMatchObject({ state: 'Rolling', failedCount: 3 });
    expect(toGrant(rollout)).toEqual(['d']);
  });

  it('is one as soon as a look shows what the update under way has yet to say', () => {
    const shown = (givenBackBy: string) =>
      aView({
        policy: { ...policy, failureThreshold: 1 },
        failedInFlight: [{ node: 'a', reason: 'disk full', givenBackBy }],
      });
    const rollout = aRollout(shown('an-earlier-run'));
    for (const node of ['a', 'd']) {
      rollout.start(node, 'c2');
      rollout.started(node, `run-of-${node}`);
    }
    rollout.prepared(said({ node: 'd', config: 'c2', holdsSlot: false }));
    expect(toGrant(rollout)).toEqual(['d']);

    rollout.accept(shown('run-of-a'));
    expect(toGrant(rollout)).toEqual([]);
    expect(failedReasons(rollout)).toEqual([{ node: 'a', reason: 'disk full' }]);

    rollout.finished(aReport('a', { outcome: 'failed', reason: 'disk full' }));
    expect([failedCount(rollout), toGrant(rollout)]).toEqual([1, []]);

    rollout.tryAgain('a');
    rollout.start('a', 'c2');
    rollout.started('a', 'next-run-of-a');
    expect(failedReasons(rollout)).toEqual([]);
  });

  it('stays one when a node that was never heard is done, and the look is older', () => {
    const rollout = aHaltedRollout();
    const unheard = { unheardCount: 1, unheard: ['c'] };
    rollout.accept({ ...view, ...unheard, policy: { ...view.policy, failureThreshold: 2 } });
    rollout.tryAgain('c');
    rollout.start('c', 'c2');

    rollout.finished(aReport('c'));

    expect(failedCount(rollout)).toBe(2);
    expect(progressOf(rollout).state).toBe('Halted');
    expect(toGrant(rollout)).toEqual([]);
  });

  it('tries the node that a person told it to, and only that, however many have failed', () => {
    const rollout = aHaltedRollout();
    rollout.retry.add('a');
    rollout.accept({
      ...view,
      failed: failed.slice(1),
      failedCount: 2,
      candidates: [candidate('a'), candidate('e')],
      candidateCount: 2,
    });

    expect(progressOf(rollout).state).toBe('Halted');
    expect(toStart(rollout)).toEqual([candidate('a')]);
    rollout.start('a', 'c2');
    rollout.prepared(said({ node: 'a', config: 'c2', holdsSlot: false }));
    expect(toGrant(rollout)).toEqual(['a']);

    rollout.grant('a');
    rollout.finished(aReport('a', { outcome: 'failed', reason: 'disk full' }));
    expect(toGrant(rollout)).toEqual([]);
    expect([...rollout.retry]).toEqual([]);
  });
});

describe('a halted rollout of which a person tells to try a failed node again', () => {
  const limit = { policy: { ...DEFAULT_POLICY, canaryNodes: 0, failureThreshold: 2 } };
  const others = { candidates: [candidate('e')], candidateCount: 1 };
  const failed = [
    { node: 'a', reason: 'boom' },
    { node: 'b', reason: 'boom' },
  ];

  function told(): Rollout {
    const rollout = aRollout(
      aView({ ...limit, ...others, failed, failedCount: 2, machineCount: 9 }),
    );
    rollout.tryAgain('a');
    rollout.accept(
      aView({
        ...{ ...limit, machineCount: 9, failed: failed.slice(1), failedCount: 1 },
        ...{ candidates: [candidate('a'), candidate('e')], candidateCount: 2 },
      }),
    );
    return rollout;
  }

  it('tries that one alone, and names it', () => {
    const rollout = told();

    expect(toStart(rollout)).toEqual([candidate('a')]);
    work(rollout, 'a');
    rollout.accept(
      aView({ ...limit, ...others, machineCount: 9, failed: failed.slice(1), failedCount: 1 }),
    );
    expect(toStart(rollout)).toEqual([]);
    expect(progressOf(rollout)).toMatchObject({
      state: 'Halted',
      blocker:
        '2 nodes failed on c2 (the limit is 2): b, a; b: boom; ' +
        'a is tried again, and the others wait until it is verified',
    });
    const { triedAgain } = new Rollout({ pool: 'worker', carry: rollout.carry() });
    expect([...triedAgain]).toEqual(['a']);
  });

  it('goes on with the others once it is verified', () => {
    const rollout = told();
    work(rollout, 'a');

    rollout.finished(aReport('a'));

    expect(progressOf(rollout).state).toBe('Rolling');
    expect(toStart(rollout)).toEqual([candidate('e')]);
  });

  it('stays halted when it fails once more, and counts it once', () => {
    const rollout = told();
    work(rollout, 'a');

    rollout.finished(aReport('a', { outcome: 'failed', reason: 'boom' }));

    expect(progressOf(rollout)).toMatchObject({ state: 'Halted', failedCount: 2 });
    expect(progressOf(rollout).blocker).toMatch(/^2 nodes failed on c2 /);
  });

  it.each([
    ['its drain timed out', { outcome: 'failed', failure: 'DrainTimedOut', isTriedAgain: true }],
    ['somebody stopped it', { outcome: 'cancelled', stoppedByRollout: true }],
  ] as const)('lets it go once more when that try ends without a verdict: %s', (_what, ended) => {
    const rollout = told();
    work(rollout, 'a');
    rollout.finished(aReport('a', ended));
    rollout.deferred.clear();

    rollout.start('a', 'c2');
    rollout.prepared(said({ node: 'a', config: 'c2', holdsSlot: false }));

    expect(progressOf(rollout).state).toBe('Rolling');
    expect(toGrant(rollout)).toEqual(['a']);
  });

  it('lets it go once more when it had failed again, and its Node shows that no more', () => {
    const rollout = told();
    work(rollout, 'a');
    rollout.finished(aReport('a', { outcome: 'failed', reason: 'boom' }));
    rollout.failed.clear();

    rollout.start('a', 'c2');
    rollout.prepared(said({ node: 'a', config: 'c2', holdsSlot: false }));

    expect(toGrant(rollout)).toEqual(['a']);
  });

  it('names what keeps it from being tried', () => {
    const rollout = told();
    const blocked = [{ node: 'a', reason: 'cordoned by a person' }];
    rollout.accept(
      aView({
        ...{ ...limit, machineCount: 9, failed: failed.slice(1), failedCount: 1 },
        ...{ blocked, blockedCount: 1 },
      }),
    );

    expect(progressOf(rollout).blocker).toContain('; a cannot be taken now: cordoned by a person');
  });

  it('counts no node that a person holds meanwhile', () => {
    const rollout = told();

    rollout.retry.delete('a');
    rollout.heldByUs.set('a', 'skipped: a spare');

    expect(progressOf(rollout).state).toBe('Rolling');
  });
});

describe('the picture that a look is made from', () => {
  const versions = { nodes: 12, pools: 3, policies: 0 };

  it('is as new as that of the look before, also in the next run', () => {
    const rollout = aRollout(aView({ versions }));

    expect(rollout.age()).toEqual({ asNewAs: versions });
    expect(new Rollout({ pool: 'worker', carry: rollout.carry() }).age()).toEqual(rollout.age());
  });

  it('is as new as that in which the controllers saw what they told', () => {
    const rollout = aRollout(aView({ versions }));
    const { changes } = rollout;

    rollout.lookAgain({ ...versions, nodes: 14 });
    rollout.expect('rendered-b', { ...versions, pools: 15 });
    rollout.lookFailed('the watch of nodes is behind');

    const told = { asNewAs: { nodes: 14, pools: 15, policies: 0 } };
    expect(rollout.changes).toBe(changes + 2);
    expect(rollout.pictureAge.ofNextLook()).toEqual(told);
    const next = new Rollout({ pool: 'worker', carry: rollout.carry() });
    expect(next.pictureAge.ofNextLook()).toEqual(told);
  });

  it('is as new also when a look has failed', () => {
    const rollout = aRollout(aView({ versions }));

    rollout.lookFailed('the watch of nodes is behind', true);

    expect(rollout.age()).toEqual({ asNewAs: versions });
    expect(progressOf(rollout).blocker).toBe('the watch of nodes is behind');
  });
});

describe('what is carried to the next run', () => {
  it('is plain JSON that gives the same rollout again', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    work(rollout, 'b');
    rollout.vanished('b');
    work(rollout, 'g');
    rollout.finished(aReport('g', { outcome: 'failed', hostIsBack: false, leftAt: '8' }));
    rollout.finished(aReport('c', { outcome: 'failed', reason: 'disk full' }));
    rollout.finished(
      aReport('d', { outcome: 'failed', failure: 'DrainTimedOut', isTriedAgain: true }),
    );
    rollout.retry.add('e');
    rollout.heldByUs.set('f', 'skipped');
    rollout.finished(aReport('h', { outcome: 'cancelled' }));
    rollout.wishPaused(true, 'freeze');

    const carry = JSON.parse(JSON.stringify(rollout.carry())) as ReturnType<Rollout['carry']>;
    const next = new Rollout({ pool: 'worker', carry });

    expect(next.carry()).toEqual(rollout.carry());
    // State that neither of them carries is the same in both.
    expect([...next.heldByUs]).toEqual([
      ['f', 'skipped'],
      ['h', 'its update was cancelled in Temporal'],
    ]);
    expect([...next.retry]).toEqual(['e']);
    expect([...next.failed.keys()]).toEqual(['g', 'c']);
    expect(next.holders()).toEqual(['a', 'b', 'g']);
    expect(next.paused()).toEqual({ paused: true, reason: 'freeze' });
    expect([...next.deferred.keys()]).toEqual(['d']);
    expect([...next.toHold]).toEqual(['h']);
  });

  it('keeps nodes that are known to be updated from being started again', () => {
    const view = aView({ candidates: [candidate('a'), candidate('b')], candidateCount: 2 });
    const rollout = aRollout(view);
    work(rollout, 'a');
    rollout.finished(aReport('a'));

    const next = new Rollout({ pool: 'worker', carry: rollout.carry() });
    next.accept(view);

    expect(toStart(next)).toEqual([candidate('b')]);
    jest.advanceTimersByTime(5_000);
    next.accept(view);
    expect(toStart(next)).toContainEqual(candidate('a'));
  });

  it('is that which updates run is still to be found out', () => {
    const rollout = aRollout();
    expect(new Rollout({ pool: 'worker', carry: rollout.carry() }).knows).toBe('all');

    rollout.knows = 'asking';

    expect(new Rollout({ pool: 'worker', carry: rollout.carry() }).knows).toBe('nothing');
  });

  it('does not put off the next check of which updates run, however soon it ends, too', () => {
    const rollout = aRollout();
    const { lastChecked } = rollout;
    jest.advanceTimersByTime(40_000);
    const next = new Rollout({ pool: 'worker', carry: rollout.carry() });
    jest.advanceTimersByTime(40_000);

    expect(next.lastChecked).toBe(lastChecked);
    expect(new Rollout({ pool: 'worker', carry: next.carry() }).lastChecked).toBe(lastChecked);
  });

  it('keeps at most 200 reports', () => {
    const rollout = aRollout();

    for (let i = 0; i < 250; i += 1) rollout.finished(aReport(`n${i}`));

    expect(rollout.carry().finished).toHaveLength(200);
    expect(progressOf(rollout).reports.at(-1)?.node).toBe('n249');
  });
});

describe('the same report twice', () => {
  it('counts once', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    const report = aReport('a');

    rollout.finished(report);
    rollout.finished(report);

    expect(rollout.updatedByUs).toBe(1);
    expect(rollout.reports).toHaveLength(1);
  });

  it('ends an update that was adopted after it, and not the next one, which is about to start', () => {
    const rollout = aRollout();
    const report = aReport('a', { outcome: 'failed', reason: 'boom' });
    rollout.finished(report);
    rollout.adopt('a');

    rollout.finished(report);
    expect([...rollout.children.keys()]).toEqual([]);

    rollout.tryAgain('a');
    rollout.start('a', 'c2');
    rollout.finished(report);
    expect([...rollout.children.keys()]).toEqual(['a']);
  });

  it('counts a node once that was updated twice, so that one node is not two canaries', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    rollout.finished(aReport('a', { finishedAt: '2026-01-01T00:01:00.000Z' }));

    rollout.finished(aReport('a', { finishedAt: '2026-01-01T00:02:00.000Z' }));
    rollout.finished(aReport('b', { finishedAt: '2026-01-01T00:03:00.000Z' }));

    expect(rollout.updatedByUs).toBe(2);
  });
});

describe('a node that a person has asked for', () => {
  const failed = aReport('a', { outcome: 'failed', reason: 'disk full' });

  it('is still to be tried after the end of an update that was not begun for that', () => {
    const rollout = aRollout();
    rollout.retry.add('a');
    expect(rollout.isToBeTriedAfter(failed)).toBe(true);
    rollout.adopt('a');
    expect(rollout.isToBeTriedAfter(failed)).toBe(true);
    expect(rollout.isToBeTriedAfter({ ...failed, outcome: 'updated' })).toBe(false);

    rollout.finished(failed);
    rollout.tryAgain('a');

    expect(failedReasons(rollout)).toEqual([]);
    expect([...rollout.retry]).toEqual(['a']);
  });

  it('has been tried when the update that was begun for it ends, also in another run', () => {
    const before = aRollout();
    before.retry.add('a');
    before.start('a', 'c2');
    before.started('a', 'run-of-a');
    before.prepared(said({ node: 'a', config: 'c2', holdsSlot: false }));
    const rollout = new Rollout({ pool: 'worker', carry: before.carry() });

    for (const one of [before, rollout]) expect(one.isToBeTriedAfter(failed)).toBe(false);
    rollout.finished(failed);
    expect([...rollout.retry]).toEqual([]);
  });

  it('has ended when its report has been heard, also in a run that began since', () => {
    const rollout = aRollout();
    rollout.finished(aReport('a', { runId: 'run-1' }));
    const next = new Rollout({ pool: 'worker', carry: rollout.carry() });

    expect([next.hasEnded('run-1'), next.hasEnded('run-2')]).toEqual([true, false]);
    rollout.finished(aReport('b'));
  });

  it('has reported until its next update begins', () => {
    const rollout = aRollout();
    work(rollout, 'a');
    expect(rollout.hasReported('a')).toBe(false);

    rollout.finished(failed);
    expect(rollout.hasReported('a')).toBe(true);
    rollout.start('a', 'c2');
    expect(rollout.hasReported('a')).toBe(false);
  });
});

describe('a rollout that stands still', () => {
  const lost = { node: 'lost', repair: true, unfinished: true as const };
  const left = { unavailable: ['lost', 'broken'], unfinished: ['lost'] };
  const standstills: readonly (readonly [string, Partial<PoolLook>])[] = [
    ['paused', { paused: true }],
    ['halted', { failed: [{ node: 'f', reason: 'disk full' }], failedCount: 2 }],
  ];
  const prepared = (rollout: Rollout, ...nodes: readonly string[]): void => {
    for (const node of nodes) {
      rollout.start(node, 'c2');
      rollout.started(node, `run-of-${node}`);
      rollout.prepared(said({ node, config: 'c2', holdsSlot: false }));
    }
  };

  it.each(standstills)('takes up who was left half done, and nobody else, when %s', (_s, view) => {
    const candidates = [lost, candidate('broken', true), candidate('next')];
    const rollout = aRollout(aView({ ...view, ...left, candidates, candidateCount: 3 }));

    expect(toFinish(rollout).start).toEqual([lost]);
    expect(toStart(rollout)).toEqual([]);
    expect(toFinish(aRollout(aView({ candidates }))).start).toEqual([]);
  });

  it.each(standstills)('gives them the slot that costs nothing when %s', (_s, view) => {
    const rollout = aRollout(aView({ ...view, ...left }));
    prepared(rollout, 'next', 'lost', 'broken');

    expect(waitingInStandstill(rollout)).toEqual(['next', 'lost', 'broken']);
    expect(toFinish(rollout).grant).toEqual(['lost']);
    expect(toGrant(rollout)).toEqual([]);
    rollout.grant('lost');
    expect(toFinish(rollout).grant).toEqual([]);
  });

  it('gives it also to one that took over the slot of a lost update', () => {
    const rollout = aRollout(aView({ paused: true, ...left }));
    work(rollout, 'lost');
    rollout.vanished('lost');
    prepared(rollout, 'lost');

    expect(toFinish(rollout).grant).toEqual(['lost']);
  });

  it('gives none before it knows who has one', () => {
    const rollout = new Rollout({ pool: 'worker' });
    rollout.accept(aView({ paused: true, ...left }));
    prepared(rollout, 'lost');

    expect(toFinish(rollout).grant).toEqual([]);
  });

  it('gives none to a canary too many', () => {
    const policy = { ...DEFAULT_POLICY, canaryNodes: 1 };
    const rollout = aRollout(aView({ paused: true, policy, ...left }));
    work(rollout, 'first');
    prepared(rollout, 'lost');

    expect(toFinish(rollout).grant).toEqual([]);
  });

  it('takes nobody up when it ends, or cannot see', () => {
    const seeing = () => aRollout(aView({ paused: true, ...left, candidates: [lost] }));
    const [ending, blind] = [seeing(), seeing()];
    ending.ending = 'it was cancelled';
    blind.viewProblem = 'the API server is away';

    for (const rollout of [ending, blind]) {
      expect(toFinish(rollout)).toEqual({ start: [], grant: [] });
      expect(waitingInStandstill(rollout)).toEqual([]);
    }
  });
});

describe('the details for the Temporal UI', () => {
  /** Without the no-break spaces that the UI does not trim. */
  const readable = (details: string) => details.replaceAll('\u00A0', '');

  it('stay small however many nodes are under way', () => {
    const rollout = aRollout(aView({ machineCount: 5000, maxUnavailable: 500 }));
    for (let i = 0; i < 400; i += 1) work(rollout, `node-${i}`);

    const details = readable(rolloutDetails(progressOf(rollout)));

    expect(details.split('\n').length).toBeLessThan(60);
    expect(details).toContain('| 0 of 5000 | 400 of 500 |');
    expect(details).toContain('and 375 more');
  });

  it('say which hosts are no machines', () => {
    const details = (view: Partial<PoolLook>) =>
      rolloutDetails(progressOf(aRollout(aView({ machineCount: 3, ...view }))));

    expect(details({ simulatedCount: 3 })).toContain('Simulated hosts: all of 3.');
    expect(details({ simulatedCount: 1 })).toContain('Simulated hosts: 1 of 3.');
    expect(details({})).not.toContain('imulated');
  });

  it('count also the failed, held and blocked nodes that no list names', () => {
    const beyond = { failedCount: 70, heldCount: 60, blockedCount: 55 };
    const rollout = aRollout(aView({ machineCount: 5000, ...beyond }));

    expect(readable(rolloutDetails(progressOf(rollout)))).toContain('| 70 | 60 | 55 |');
  });
});
