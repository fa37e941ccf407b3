import { EXIT } from '../../../cli/exit-codes';
import type { NodeGroup, NodeRow } from '../../../cli/node-rows';
import type { RunningStep } from '../../../cli/running-step';
import {
  exitCodeOf,
  type RolloutSnapshot,
  type SnapshotInput,
  takeSnapshot,
} from '../../../cli/snapshot';
import { ANNOTATION } from '../../../core/names';
import { mcnConditions } from '../../../core/node/conditions';
import type { NodePhase } from '../../../core/node/lifecycle';
import { preparedMark } from '../../../core/node/prepared';
import { markOf } from '../../../core/node/turn';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { Condition } from '../../../core/object-meta';
import type { MachineConfigPool } from '../../../core/pool/types';
import { DEFAULT_POLICY } from '../../../core/rollout';
import type { OpenUpdate } from '../../../core/rollout/picture';
import type { Grant, PoolRolloutStatus } from '../../../core/rollout/pool-rollout';
import { aPoolRollout } from './cluster-view';

const OLD = 'rendered-worker-old';
const NEW = 'rendered-worker-new';
const RUN = { id: 'r1', startedAt: '2026-03-01T12:00:00Z' };
const OPEN = { runId: 'rollout-1' };

function aPool(
  change: Partial<MachineConfigPool['spec']> = {},
  annotations: Record<string, string> = {},
): MachineConfigPool {
  return {
    metadata: { name: 'worker', annotations },
    spec: { configuration: { name: NEW }, maxUnavailable: 2, ...change },
  };
}

function aNode(name: string, annotations: Record<string, string>, unschedulable = false): Node {
  return {
    metadata: { name, uid: `uid-${name}`, annotations },
    spec: { unschedulable },
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

function on(config: string, desired = config, state = 'Done', reason = ''): Record<string, string> {
  return {
    [ANNOTATION.CURRENT_CONFIG]: config,
    [ANNOTATION.DESIRED_CONFIG]: desired,
    [ANNOTATION.STATE]: state,
    [ANNOTATION.REASON]: reason,
  };
}

/** An update has marked it and has not given it back. */
function taken(name = 'n'): Node {
  return aNode(name, { ...on(OLD, NEW, 'Working'), [ANNOTATION.UPDATE_RUN]: markOf(RUN) });
}

function aMachineConfigNode(
  name: string,
  change: {
    readonly annotations?: Record<string, string>;
    readonly conditions?: readonly Condition[];
  },
): MachineConfigNode {
  const { annotations = {}, conditions = [] } = change;
  return {
    metadata: { name, annotations },
    spec: { node: { name }, pool: { name: 'worker' }, configVersion: { desired: NEW } },
    status: { conditions },
  };
}

function prepared(name: string, config = NEW): MachineConfigNode {
  const mark = preparedMark(RUN, config, false);
  return aMachineConfigNode(name, { annotations: { [ANNOTATION.PREPARED]: mark } });
}

function anUpdate(node: string, config = NEW): OpenUpdate {
  return { node, run: RUN.id, config, uid: `uid-${node}` };
}

function aGrant(node: string): Grant {
  const { id: run, startedAt } = RUN;
  return { node, uid: `uid-${node}`, run, startedAt, config: NEW, grantedAt: startedAt };
}

interface Seen extends Partial<Omit<SnapshotInput, 'written' | 'machineConfigNodes'>> {
  readonly written?: Partial<PoolRolloutStatus>;
  readonly machineConfigNodes?: readonly MachineConfigNode[];
}

/** One node that is on the old config, and no rollout, unless the test says otherwise. */
function snapshotOf({ written, machineConfigNodes = [], ...seen }: Seen = {}): RolloutSnapshot {
  const { status } = aPoolRollout(written);
  return takeSnapshot({
    pool: aPool(),
    policy: DEFAULT_POLICY,
    nodes: [aNode('n', on(OLD))],
    ...{ controlPlane: [], updates: [], nowMs: Date.parse('2026-03-01T12:01:00Z') },
    machineConfigNodes: new Map(machineConfigNodes.map((one) => [one.metadata.name, one])),
    ...(written === undefined || status === undefined ? {} : { written: status }),
    ...seen,
  });
}

function rowOf(seen: Seen): NodeRow | undefined {
  return snapshotOf(seen).rows[0];
}

describe('where the tree shows a node', () => {
  const groupOf = (node: Node): NodeGroup | undefined => rowOf({ nodes: [node] })?.group;

  it('is Updated on the target and Pending before it', () => {
    expect(groupOf(aNode('n', on(NEW)))).toBe('Updated');
    expect(groupOf(aNode('n', on(OLD)))).toBe('Pending');
  });

  it('is Failed when it failed on this very target, also when no rollout runs', () => {
    expect(groupOf(aNode('n', on(OLD, NEW, 'Degraded', 'ApplyFailed: x')))).toBe('Failed');
    expect(groupOf(aNode('n', on(OLD, 'rendered-worker-other', 'Degraded', 'x')))).toBe('Pending');
  });

  it('is Blocked under a cordon of a person', () => {
    expect(groupOf(aNode('n', on(OLD), true))).toBe('Blocked');
  });

  it('is Held when a person skipped it, although its update has not ended yet', () => {
    const held = { [ANNOTATION.HELD_FOR]: NEW, [ANNOTATION.HELD_REASON]: 'skipped: disk' };
    const node = aNode('n', { ...on(OLD), ...held });

    expect(rowOf({ nodes: [node], updates: [anUpdate('n')] })).toEqual({
      ...{ node: 'n', group: 'Held', detail: 'skipped: disk' },
    });
  });

  it('is Pending in a pool without a config', () => {
    const pool: MachineConfigPool = { metadata: { name: 'worker' }, spec: {} };

    expect(rowOf({ pool })).toEqual({ node: 'n', group: 'Pending' });
  });
});

describe('of a node whose update is prepared', () => {
  const waiting = {
    machineConfigNodes: [prepared('n')],
    updates: [anUpdate('n')],
    rollout: OPEN,
  };

  it('says why it has no grant yet', () => {
    const canary = taken('canary');

    const { rows } = snapshotOf({
      ...waiting,
      nodes: [aNode('n', on(OLD)), canary],
      written: { grants: [aGrant('canary')] },
    });

    expect(rows[0]).toEqual({
      node: 'n',
      group: 'WaitingForGrant',
      since: RUN.startedAt,
      detail: 'waiting for the canary: canary must be verified on the config first',
    });
  });

  it('leaves the reason to the rollout where none gets a grant', () => {
    const blocker = 'pool worker is paused (lunch); resume it to go on';
    const snapshot = snapshotOf({
      ...waiting,
      pool: aPool({ paused: true }),
      written: { state: 'Paused', blocker },
    });

    expect(snapshot).toMatchObject({ state: 'Paused', blocker });
    expect(snapshot.rows[0]).not.toHaveProperty('detail');
  });

  it('says that it is down', () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: '', message: '' }];
    const down = { ...aNode('n', on(OLD)), status: { conditions } };

    expect(rowOf({ ...waiting, nodes: [down], written: {} })).toMatchObject({
      group: 'WaitingForGrant',
      detail: 'not Ready',
    });
  });

  it('shows it at work from its grant on, and what it still waits for', () => {
    const step: RunningStep = { attempt: 1, says: 'waiting for room: maxUnavailable is 1' };

    expect(
      rowOf({ ...waiting, written: { grants: [aGrant('n')] }, steps: new Map([['n', step]]) }),
    ).toEqual({
      node: 'n',
      group: 'Cordoning',
      since: RUN.startedAt,
      detail: 'waiting for room: maxUnavailable is 1',
    });
  });

  it('has nothing of an update that has ended', () => {
    expect(rowOf({ ...waiting, updates: [] })).toEqual({ node: 'n', group: 'Pending' });
  });
});

describe('of a node in preparation', () => {
  const STEP: RunningStep = {
    ...{ since: RUN.startedAt, attempt: 3, says: 'pulling os' },
    lastFailure: 'pull os: connection refused',
  };
  const TRIES = 'pulling os; attempt 3, pull os: connection refused';
  const ENDS = `waiting for its update to ${OLD} to end`;

  it.each([
    ['what its host does, or why it has to try again', NEW, STEP, TRIES],
    ['that its update to another config has to end first', OLD, undefined, ENDS],
    ['both', OLD, STEP, `${ENDS}; ${TRIES}`],
  ])('shows %s', (_what, config, step, detail) => {
    const row = rowOf({
      updates: [anUpdate('n', config)],
      steps: new Map(step === undefined ? [] : [['n', step]]),
    });

    expect(row).toEqual({
      ...{ node: 'n', group: 'Preparing', detail },
      ...(step === undefined ? {} : { since: RUN.startedAt }),
    });
  });
});

describe('of a node at work', () => {
  it.each([
    ['Draining', 'Draining'],
    ['Applying', 'Applying'],
    ['Reloading', 'Rebooting'],
    ['Rebooting', 'Rebooting'],
    ['Verifying', 'Verifying'],
    ['Completing', 'Completing'],
    ['GoingBack', 'GoingBack'],
  ] as const)('whose MachineConfigNode says %s: %s', (phase, group) => {
    const walk: readonly NodePhase[] = ['Preparing', 'WaitingForGrant', 'Draining', phase];
    const conditions = walk.reduce<readonly Condition[]>(
      (before, now) => mcnConditions(now, before, { config: NEW, now: RUN.startedAt }),
      [],
    );
    const machineConfigNodes = [aMachineConfigNode('n', { conditions })];

    expect(rowOf({ nodes: [taken()], machineConfigNodes })?.group).toBe(group);
  });

  it('says what its step waits for', () => {
    const message = `${NEW}: waiting for pod a/b`;
    const condition = { type: 'Drained', status: 'Unknown', reason: 'x', message } as const;
    const machineConfigNodes = [aMachineConfigNode('n', { conditions: [condition] })];

    expect(rowOf({ nodes: [taken()], machineConfigNodes })).toMatchObject({
      group: 'Draining',
      detail: 'waiting for pod a/b',
    });
  });

  it('names whom the step waits for, also at the first attempt', () => {
    const blocker = 'its host worker has not picked it up yet';
    const steps = new Map([['n', { attempt: 1, blocker }]]);

    expect(rowOf({ nodes: [taken()], steps })).toMatchObject({
      ...{ group: 'Cordoning', since: RUN.startedAt, detail: blocker },
    });
  });

  it('says why a machine that is back is not Ready', () => {
    const says = 'condition Ready is False (KubeletNotReady: no CNI)';
    const message = `${NEW}: a new kernel`;
    const condition = { type: 'RebootedNode', status: 'Unknown', reason: 'x', message } as const;
    const machineConfigNodes = [aMachineConfigNode('n', { conditions: [condition] })];
    const steps = new Map([['n', { attempt: 1, says }]]);

    expect(rowOf({ nodes: [taken()], machineConfigNodes, steps })).toMatchObject({
      ...{ group: 'Rebooting', detail: `a new kernel; ${says}` },
    });
  });

  it('says that a person has it taken back', () => {
    const node = taken();
    const held = { [ANNOTATION.HELD_FOR]: NEW, [ANNOTATION.HELD_REASON]: 'cancelled: disk' };
    const annotations = { ...node.metadata.annotations, ...held };

    expect(rowOf({ nodes: [{ ...node, metadata: { ...node.metadata, annotations } }] })).toEqual({
      ...{ node: 'n', group: 'Cordoning', since: RUN.startedAt, detail: 'cancelled: disk' },
    });
  });
});

describe('the state', () => {
  const newer = aNode('m', on(NEW));

  it('is what the rollout has written, with its counts', () => {
    const nodes = [taken(), newer];
    const written = { state: 'Rolling', grants: [aGrant('n')] } as const;

    expect(snapshotOf({ nodes, written, rollout: OPEN })).toMatchObject({
      state: 'Rolling',
      startedAt: '2026-03-01T12:00:00Z',
      ...{ machineCount: 2, updated: 1, outOfService: 1, maxUnavailable: 2 },
    });
  });

  it.each<readonly [string, Seen, string, string]>([
    ['another config', { written: { config: OLD, state: 'Completed' } }, 'Waiting', 'yet to look'],
    ['nodes that are new', { written: { state: 'Completed' } }, 'Waiting', 'yet to look'],
    [
      'a pause',
      { written: {}, pool: aPool({ paused: true }, { [ANNOTATION.PAUSED_REASON]: 'lunch' }) },
      'Paused',
      'the pool is paused (lunch); resume it: slipway rollout resume worker',
    ],
    ['the end of a pause', { written: { state: 'Paused' } }, 'Waiting', 'yet to look'],
    ['anything', {}, 'Waiting', 'yet to look'],
  ])('is not what it wrote before it saw %s', (_what, seen, state, blocker) => {
    const snapshot = snapshotOf({ rollout: OPEN, ...seen });

    expect(snapshot.state).toBe(state);
    expect(snapshot.blocker).toContain(blocker);
    expect(snapshot).not.toHaveProperty('startedAt');
  });

  it('is Completed, and then Updated when the rollout has ended', () => {
    const done: Seen = { nodes: [newer], written: { state: 'Completed' } };

    expect(snapshotOf({ ...done, rollout: OPEN }).state).toBe('Completed');
    expect(snapshotOf(done)).toMatchObject({ state: 'Updated' });
    expect(snapshotOf(done)).not.toHaveProperty('blocker');
  });

  it('says that nobody steps, whatever was written', () => {
    const rollout = { ...OPEN, blocker: 'no cluster worker has picked it up yet' };

    expect(snapshotOf({ written: {}, rollout }).blocker).toBe(
      'the rollout does not look at its pool: no cluster worker has picked it up yet',
    );
  });
});

describe('why nothing happens', () => {
  const blocker = (pool: MachineConfigPool, trigger: 'Automatic' | 'Manual' = 'Automatic') =>
    snapshotOf({ pool, policy: { ...DEFAULT_POLICY, trigger }, written: {} }).blocker;

  it('names a cancelled rollout of this very config', () => {
    const cancelled = (config: string) => aPool({}, { [ANNOTATION.ROLLOUT_CANCELLED]: config });

    expect(blocker(cancelled(NEW))).toContain(
      'was cancelled; start it: slipway rollout start worker',
    );
    expect(blocker(cancelled(OLD))).toContain('no rollout runs yet');
  });

  it('names a manual trigger, unless a person has started it, and a pause', () => {
    const started = aPool({}, { [ANNOTATION.ROLLOUT_STARTED]: OLD });

    expect(blocker(aPool(), 'Manual')).toContain('says Manual');
    expect(blocker(started, 'Manual')).toContain('no rollout runs yet');
    expect(blocker(aPool({ paused: true }))).toContain('slipway rollout resume worker');
  });

  it('names an impossible field of the pool', () => {
    expect(snapshotOf({ pool: aPool({ maxUnavailable: -1 }) })).toMatchObject({
      maxUnavailable: 0,
      blocker: expect.stringContaining('maxUnavailable') as unknown,
    });
  });
});

describe('the exit code of rollout status', () => {
  const of = (seen: Seen) => exitCodeOf(snapshotOf(seen));

  it('is 0 while it rolls and when it is done', () => {
    expect(of({ written: {}, rollout: OPEN })).toBe(EXIT.OK);
    expect(of({ nodes: [aNode('n', on(NEW))] })).toBe(EXIT.OK);
  });

  it('is 6 when paused', () => {
    expect(of({ pool: aPool({ paused: true }) })).toBe(EXIT.PAUSED);
  });

  it('is 4 when halted, and when nothing but failed nodes are left', () => {
    expect(of({ written: { state: 'Halted' }, rollout: OPEN })).toBe(EXIT.FAILED);
    const failed = aNode('n', on(OLD, NEW, 'Degraded', 'x'));
    expect(of({ nodes: [failed, aNode('m', on(NEW))] })).toBe(EXIT.FAILED);
    expect(of({ nodes: [failed, aNode('m', on(OLD))] })).toBe(EXIT.OK);
  });
});
