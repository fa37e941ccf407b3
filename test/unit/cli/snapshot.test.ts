import { EXIT } from '../../../cli/exit-codes';
import type { NodeGroup } from '../../../cli/snapshot';
import { exitCodeOf, takeSnapshot } from '../../../cli/snapshot';
import { ANNOTATION } from '../../../core/names';
import { mcnConditions } from '../../../core/node/conditions';
import type { NodePhase } from '../../../core/node/lifecycle';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { Condition } from '../../../core/object-meta';
import type { MachineConfigPool } from '../../../core/pool/types';
import type { RolloutProgress } from '../../../workflows/messages';
import { aProgress } from './rollout-progress';

const OLD = 'rendered-worker-old';
const NEW = 'rendered-worker-new';

function aPool(change: Partial<MachineConfigPool['spec']> = {}): MachineConfigPool {
  return { metadata: { name: 'worker' }, spec: { configuration: { name: NEW }, ...change } };
}

function aNode(name: string, annotations: Record<string, string>, unschedulable = false): Node {
  return {
    metadata: { name, annotations },
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

function groupOf(node: Node, progress?: RolloutProgress, mcn?: MachineConfigNode): NodeGroup {
  const snapshot = takeSnapshot({
    pool: aPool(),
    nodes: [node],
    machineConfigNodes: new Map(mcn === undefined ? [] : [[node.metadata.name, mcn]]),
    maxUnavailable: 2,
    ...(progress === undefined ? {} : { progress }),
  });
  return snapshot.rows[0]!.group;
}

describe('where the tree shows a node', () => {
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

  it('says why a prepared node has no slot yet', () => {
    const child = { node: 'n', config: NEW, holdsSlot: false, since: '2026-03-01T12:00:00Z' };
    const progress = aProgress({
      children: [{ ...child, stage: 'waiting', blocker: 'waiting for a slot: all are taken' }],
    });

    const { rows } = takeSnapshot({
      pool: aPool(),
      nodes: [aNode('n', on(OLD))],
      machineConfigNodes: new Map(),
      maxUnavailable: 2,
      progress,
    });

    expect(rows).toEqual([
      {
        node: 'n',
        group: 'WaitingForSlot',
        since: '2026-03-01T12:00:00Z',
        detail: 'waiting for a slot: all are taken',
      },
    ]);
  });

  it('follows the step that its MachineConfigNode shows as running', () => {
    const progress = aProgress({
      children: [
        {
          node: 'n',
          config: NEW,
          stage: 'working',
          holdsSlot: true,
          since: '2026-03-01T12:00:00Z',
        },
      ],
    });
    const mcn = (type: string): MachineConfigNode => ({
      metadata: { name: 'n' },
      spec: { node: { name: 'n' }, pool: { name: 'worker' }, configVersion: { desired: NEW } },
      status: {
        conditions: [
          { type: 'UpdateExecuted', status: 'Unknown', reason: 'x', message: '' },
          { type, status: 'Unknown', reason: 'x', message: 'waiting for pod a/b' },
        ],
      },
    });

    expect(groupOf(aNode('n', on(OLD, NEW, 'Working')), progress, mcn('Drained'))).toBe('Draining');
    expect(groupOf(aNode('n', on(OLD, NEW, 'Working')), progress, mcn('RebootedNode'))).toBe(
      'Rebooting',
    );
  });

  it.each([
    ['Cordoning', 'Cordoning'],
    ['Draining', 'Draining'],
    ['Applying', 'Applying'],
    ['Reloading', 'Rebooting'],
    ['Rebooting', 'Rebooting'],
    ['Verifying', 'Verifying'],
    ['Completing', 'Completing'],
    ['GoingBack', 'GoingBack'],
  ] as const)('of a node whose MachineConfigNode says %s: %s', (phase, group) => {
    const child = { node: 'n', config: NEW, stage: 'working', holdsSlot: true } as const;
    const progress = aProgress({ children: [{ ...child, since: '2026-03-01T12:00:00Z' }] });
    const walk: readonly NodePhase[] = ['Preparing', 'Cordoning', 'Draining', phase];
    const conditions = walk.reduce<readonly Condition[]>(
      (before, now) => mcnConditions(now, before, { config: NEW, now: '2026-03-01T12:00:00Z' }),
      [],
    );
    const mcn: MachineConfigNode = {
      metadata: { name: 'n' },
      spec: { node: { name: 'n' }, pool: { name: 'worker' }, configVersion: { desired: NEW } },
      status: { conditions: [...conditions] },
    };

    expect(groupOf(aNode('n', on(OLD, NEW, 'Working')), progress, mcn)).toBe(group);
  });
});

describe('why nothing happens', () => {
  const blocker = (pool: MachineConfigPool, manual = false) =>
    takeSnapshot({
      pool,
      nodes: [aNode('n', on(OLD))],
      machineConfigNodes: new Map(),
      maxUnavailable: 1,
      manual,
    }).blocker;

  it('names a cancelled rollout of this very config', () => {
    const pool = aPool();
    const cancelled = (config: string): MachineConfigPool => ({
      ...pool,
      metadata: { ...pool.metadata, annotations: { [ANNOTATION.ROLLOUT_CANCELLED]: config } },
    });

    expect(blocker(cancelled(NEW))).toContain(
      'was cancelled; start it: slipway rollout start worker',
    );
    expect(blocker(cancelled(OLD))).toContain('no rollout runs yet');
  });

  it('names a manual trigger, unless this config was started, and a pause', () => {
    const pool = aPool();
    const started = (config: string): MachineConfigPool => ({
      ...pool,
      metadata: { ...pool.metadata, annotations: { [ANNOTATION.ROLLOUT_STARTED]: config } },
    });

    expect(blocker(aPool(), true)).toContain('says Manual');
    expect(blocker(started(OLD), true)).toContain('says Manual');
    expect(blocker(started(NEW), true)).toContain('no rollout runs yet');
    expect(blocker(aPool({ paused: true }))).toContain('slipway rollout resume worker');
  });
});

describe('the exit code of rollout status', () => {
  const of = (pool: MachineConfigPool, nodes: Node[], progress?: RolloutProgress) =>
    exitCodeOf(
      takeSnapshot({
        pool,
        nodes,
        machineConfigNodes: new Map(),
        maxUnavailable: 1,
        ...(progress === undefined ? {} : { progress }),
      }),
    );

  it('is 0 while it rolls and when it is done', () => {
    expect(of(aPool(), [aNode('n', on(OLD))], aProgress())).toBe(EXIT.OK);
    expect(of(aPool(), [aNode('n', on(NEW))])).toBe(EXIT.OK);
  });

  it('is 6 when paused', () => {
    expect(of(aPool({ paused: true }), [aNode('n', on(OLD))])).toBe(EXIT.PAUSED);
  });

  it('is 4 when halted, and when nothing but failed nodes are left', () => {
    expect(of(aPool(), [aNode('n', on(OLD))], aProgress({ state: 'Halted' }))).toBe(EXIT.FAILED);
    const failed = aNode('n', on(OLD, NEW, 'Degraded', 'x'));
    expect(of(aPool(), [failed, aNode('m', on(NEW))])).toBe(EXIT.FAILED);
    expect(of(aPool(), [failed, aNode('m', on(OLD))])).toBe(EXIT.OK);
  });
});

describe('of a node in preparation', () => {
  const STEP = { attempt: 3, says: 'pulling os', lastFailure: 'pull os: connection refused' };
  const TRIES = 'pulling os; attempt 3, pull os: connection refused';
  const ENDS = 'waiting for its update to rendered-worker-before to end';

  it.each([
    ['what its host does, or why it has to try again', {}, STEP, TRIES],
    ['what its rollout waits for', { blocker: ENDS }, undefined, ENDS],
    ['both', { blocker: ENDS }, STEP, `${ENDS}; ${TRIES}`],
  ])('shows %s', (_what, more, step, detail) => {
    const since = '2026-03-01T12:00:00Z';
    const child = { node: 'w1', config: NEW, stage: 'preparing' as const, since, ...more };
    const snapshot = takeSnapshot({
      pool: aPool(),
      nodes: [aNode('w1', on(OLD))],
      machineConfigNodes: new Map(),
      maxUnavailable: 1,
      progress: aProgress({ children: [{ ...child, holdsSlot: false }] }),
      steps: new Map(step === undefined ? [] : [['w1', step]]),
    });

    expect(snapshot.rows[0]).toMatchObject({ group: 'Preparing', detail });
  });
});

it('names whom the step of a node at work waits for, also at the first attempt', () => {
  const child = { node: 'w1', config: NEW, stage: 'working', since: '2026-03-01T12:00:00Z' };
  const blocker = 'its host worker has not picked it up yet';
  const snapshot = takeSnapshot({
    pool: aPool(),
    nodes: [aNode('w1', on(OLD))],
    machineConfigNodes: new Map(),
    maxUnavailable: 1,
    progress: aProgress({ children: [child as RolloutProgress['children'][number]] }),
    steps: new Map([['w1', { attempt: 1, blocker }]]),
  });

  expect(snapshot.rows[0]).toMatchObject({ group: 'Cordoning', detail: blocker });
});
