import { ANNOTATION } from '../../../../core/names';
import type { MachineConfigNode, Node } from '../../../../core/node/types';
import type { Condition } from '../../../../core/object-meta';
import { calculateStatus, poolStatus, type PoolStatus } from '../../../../core/pool/status';
import { A, aNode, aPool, B, updated } from './builders';

const NOW = '2030-01-01T00:00:00Z';
const BEFORE = '2029-01-01T00:00:00Z';

function conditionOf(status: PoolStatus, type: string): Condition {
  const found = status.conditions?.find((condition) => condition.type === type);
  if (found === undefined) throw new Error(`no condition ${type}`);
  return found;
}

function condition(type: string, status: Condition['status'], message = ''): Condition {
  return { type, status, reason: '', message, lastTransitionTime: BEFORE };
}

function mcn(name: string, message?: string): MachineConfigNode {
  return {
    metadata: { name },
    spec: { node: { name }, pool: { name: 'worker' }, configVersion: { desired: B } },
    status: {
      conditions:
        message === undefined
          ? []
          : [{ type: 'NodeDegraded', status: 'True', reason: 'x', message }],
    },
  };
}

const degraded = (name: string, reason: string) =>
  aNode(name, { desired: B, state: 'Degraded', reason });

describe('the status of a pool', () => {
  it('takes the configuration over only when every node is there and available', () => {
    const pool = aPool({}, { status: { configuration: { name: A } } });
    const base = { pool, machineConfigNodes: [], now: NOW };

    const all = calculateStatus({ ...base, nodes: [updated('n0'), updated('n1')] });
    const cordoned = calculateStatus({
      ...base,
      nodes: [updated('n0'), updated('n1', { cordoned: true })],
    });

    expect(all.configuration?.name).toBe(B);
    expect(conditionOf(all, 'Updated').message).toBe(
      `All nodes are updated with MachineConfig ${B}`,
    );
    expect(cordoned.configuration?.name).toBe(A);
    expect(conditionOf(cordoned, 'Updated').status).toBe('False');
    expect(cordoned).toMatchObject({
      observedGeneration: 7,
      machineCount: 2,
      updatedMachineCount: 2,
      readyMachineCount: 1,
      unavailableMachineCount: 1,
      degradedMachineCount: 0,
    });
  });

  it('calls an empty pool updated', () => {
    const status = calculateStatus({ pool: aPool(), nodes: [], machineConfigNodes: [], now: NOW });

    expect(conditionOf(status, 'Updated').status).toBe('True');
    expect(status.configuration?.name).toBe(B);
  });

  it('says that a paused pool will not update', () => {
    const status = calculateStatus({
      pool: aPool({ paused: true }),
      nodes: [aNode('n0')],
      machineConfigNodes: [],
      now: NOW,
    });

    expect(conditionOf(status, 'Updating')).toMatchObject({
      status: 'False',
      message: `Pool is paused; will not update to MachineConfig ${B}`,
    });
  });

  it('keeps the transition time while the status stays, also when the message changes', () => {
    const conditions = [condition('Updating', 'True', 'old words'), condition('Updated', 'True')];

    const status = calculateStatus({
      pool: aPool({}, { status: { conditions } }),
      nodes: [aNode('n0')],
      machineConfigNodes: [],
      now: NOW,
    });

    expect(conditionOf(status, 'Updating')).toMatchObject({
      message: `All nodes are updating to MachineConfig ${B}`,
      lastTransitionTime: BEFORE,
    });
    expect(conditionOf(status, 'Updated').lastTransitionTime).toBe(NOW);
  });

  it('changes nothing when nothing changed', () => {
    const input = { nodes: [aNode('n0'), degraded('n1', 'boom')], machineConfigNodes: [] };
    const first = poolStatus({ ...input, pool: aPool(), now: BEFORE });

    const second = poolStatus({ ...input, pool: aPool({}, { status: first }), now: NOW });

    expect(second).toEqual(first);
  });

  it('is degraded when rendering is, and leaves that condition to its writer', () => {
    const conditions = [condition('RenderDegraded', 'True', 'bad file')];

    const status = calculateStatus({
      pool: aPool({}, { status: { conditions } }),
      nodes: [aNode('n0')],
      machineConfigNodes: [],
      now: NOW,
    });

    expect(conditionOf(status, 'RenderDegraded')).toEqual(conditions[0]);
    expect(conditionOf(status, 'Degraded')).toMatchObject({ status: 'True', message: '' });
    expect(conditionOf(status, 'NodeDegraded').status).toBe('False');
  });

  it('says why it is degraded when rendering is, which MCO leaves out', () => {
    const conditions = [condition('RenderDegraded', 'True', 'bad file')];
    const pool = aPool({}, { status: { conditions } });

    const message = (nodes: readonly Node[]): string | undefined =>
      conditionOf(poolStatus({ pool, nodes, machineConfigNodes: [], now: NOW }), 'Degraded')
        .message;

    expect(message([aNode('n0')])).toBe('bad file');
    expect(message([degraded('n0', 'boom')])).toBe('Node n0 is reporting: "boom"; bad file');
  });

  it('does not change the pool that it was given', () => {
    const pool = aPool({}, { status: { conditions: [condition('Updated', 'True')] } });
    const copy = structuredClone(pool);

    poolStatus({ pool, nodes: [degraded('n0', 'boom')], machineConfigNodes: [], now: NOW });

    expect(pool).toEqual(copy);
  });
});

describe('which nodes are degraded and why', () => {
  it('is told by MCO from two sources that may disagree', () => {
    const nodes = [degraded('n0', 'boom')];

    const without = calculateStatus({ pool: aPool(), nodes, machineConfigNodes: [], now: NOW });
    const hidden = calculateStatus({
      pool: aPool(),
      nodes,
      machineConfigNodes: [mcn('other'), mcn('n0', 'x')],
      now: NOW,
    });

    expect(conditionOf(without, 'NodeDegraded')).toMatchObject({
      status: 'True',
      reason: '0 nodes are reporting degraded status on sync',
      message: '',
    });
    expect(conditionOf(hidden, 'NodeDegraded').message).toBe('');
  });

  it('is told by MCO with all messages first and then all reasons', () => {
    const status = calculateStatus({
      pool: aPool(),
      nodes: [degraded('n0', 'r0'), degraded('n1', 'r1')],
      machineConfigNodes: [mcn('n0', 'm "0"'), mcn('gone', 'm'), mcn('n1', 'm1')],
      now: NOW,
    });

    expect(conditionOf(status, 'NodeDegraded')).toMatchObject({
      reason: '2 nodes are reporting degraded status on sync',
      message:
        'Node n0 is reporting: "m \\"0\\"", Node n1 is reporting: "m1", ' +
        'Node n0 is reporting: "r0", Node n1 is reporting: "r1"',
    });
  });

  it('is told by Slipway for every node that counts, once', () => {
    const status = poolStatus({
      pool: aPool(),
      nodes: [degraded('n0', 'boom'), degraded('n1', ''), degraded('n2', ''), aNode('n3')],
      machineConfigNodes: [mcn('n3'), mcn('n1', 'no space left')],
      now: NOW,
    });
    const message =
      'Node n0 is reporting: "boom", Node n1 is reporting: "no space left", ' +
      'Node n2 is reporting: "no reason given"';

    expect(status.degradedMachineCount).toBe(3);
    expect(conditionOf(status, 'NodeDegraded')).toMatchObject({
      status: 'True',
      reason: '3 nodes are reporting degraded status on sync',
      message,
    });
    expect(conditionOf(status, 'Degraded')).toMatchObject({ status: 'True', message });
  });
});

describe('a pool that MCO had layered', () => {
  const IMAGE = 'registry.example.com/os@sha256:1';
  const annotations = { [ANNOTATION.CURRENT_IMAGE]: IMAGE, [ANNOTATION.DESIRED_IMAGE]: IMAGE };
  const nodes = [updated('n0', { annotations }), updated('n1')];
  const input = { pool: aPool(), nodes, machineConfigNodes: [], now: NOW };

  it('is updated for MCO while a node has an image, and for Slipway once none has', () => {
    expect(calculateStatus(input).updatedMachineCount).toBe(2);
    expect(conditionOf(calculateStatus(input), 'Updated').status).toBe('True');
    expect(poolStatus(input).updatedMachineCount).toBe(1);
    expect(conditionOf(poolStatus(input), 'Updated').status).toBe('False');
  });

  it('is not degraded for ever by a build that is no more', () => {
    const conditions = [
      condition('ImageBuildDegraded', 'True', 'x'),
      condition('Degraded', 'True'),
    ];
    const pool = aPool({}, { status: { conditions } });

    const status = poolStatus({ ...input, pool });

    expect(conditionOf(status, 'ImageBuildDegraded')).toMatchObject({
      status: 'False',
      reason: 'NoLayeredObjects',
    });
    expect(conditionOf(status, 'Degraded').status).toBe('False');
  });

  it('is degraded by a build that failed, and says so', () => {
    const conditions = [condition('ImageBuildDegraded', 'True', 'the builder says')];
    const pool = aPool({}, { status: { conditions } });
    const build = {
      metadata: { name: 'mosb' },
      spec: { machineConfig: { name: B } },
      status: { conditions: [condition('Failed', 'True')] },
    };
    const config = { metadata: { name: 'mosc' } };

    const status = calculateStatus({ ...input, pool, layering: { config, build } });

    expect(conditionOf(status, 'Degraded')).toMatchObject({
      status: 'True',
      message: 'Custom OS image build failed',
    });
  });

  it('waits for its nodes, but for nothing while it is degraded otherwise', () => {
    const pool = aPool({}, { status: { conditions: [condition('NodeDegraded', 'True')] } });
    const layering = { config: { metadata: { name: 'mosc' } } };

    const status = calculateStatus({ ...input, pool, layering });

    expect(conditionOf(status, 'Updating')).toMatchObject({
      status: 'False',
      message: 'Pool update paused due to degraded condition',
    });
  });
});
