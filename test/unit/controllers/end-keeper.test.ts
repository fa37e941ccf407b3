import { ANNOTATION } from '../../../core/names';
import { mcnConditions } from '../../../core/node/conditions';
import { NodePhase } from '../../../core/node/lifecycle';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import { aFixture, pass, stopAll, type NodeFixture } from './node-fixture';
import { aNode, type NodeShape } from './objects';

const AT = '2026-01-01T00:00:00Z';

function node(shape: NodeShape, mark: string): Node {
  const { metadata, ...rest } = aNode(shape);
  const annotations = { ...metadata.annotations, [ANNOTATION.UPDATE_RUN]: `v1/${AT}/${mark}` };
  return { ...rest, metadata: { ...metadata, annotations } };
}

const WORKING = node({ current: 'a', desired: 'b', state: 'Working' }, 'run-1');
const ON_B = node({ current: 'b', desired: 'b', state: 'Done' }, 'run-1/over');
const BACK_ON_A = node({ current: 'a', desired: 'a', state: 'Done' }, 'run-1/over');
const AGAIN = node({ current: 'b', desired: 'b', state: 'Working' }, 'run-2');

function shownIn(phase: NodePhase): MachineConfigNode {
  return {
    metadata: { name: 'n1' },
    spec: { node: { name: 'n1' }, pool: { name: 'worker' }, configVersion: { desired: 'b' } },
    status: {
      configVersion: { desired: 'b', current: phase === NodePhase.UPDATED ? 'b' : 'a' },
      conditions: mcnConditions(phase, undefined, { config: 'b', now: AT }),
    },
  };
}

async function rebooting(): Promise<NodeFixture> {
  const fixture = aFixture(WORKING);
  fixture.machineConfigNodes.put(shownIn(NodePhase.REBOOTING));
  await pass(60_000);
  expect(fixture.applied).toEqual([]);
  return fixture;
}

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  stopAll();
  jest.useRealTimers();
});

describe('an update that has ended on its Node', () => {
  it('is said to have ended when it was lost before it could say so', async () => {
    const fixture = await rebooting();
    fixture.nodes.put(ON_B);
    await pass(9_000);
    expect(fixture.applied).toEqual([]);

    await pass(2_000);

    const updated = { type: 'Updated', status: 'True', message: 'the node is on b' };
    expect(fixture.applied).toEqual([
      {
        metadata: { name: 'n1' },
        status: expect.objectContaining({
          configVersion: { desired: 'b', current: 'b' },
          conditions: expect.arrayContaining([expect.objectContaining(updated)]) as unknown,
        }) as unknown,
      },
    ]);
  });

  it('says so itself as long as it lives', async () => {
    const fixture = await rebooting();
    fixture.nodes.put(ON_B);
    await pass(5_000);
    fixture.machineConfigNodes.put(shownIn(NodePhase.UPDATED));
    await pass(60_000);

    expect(fixture.applied).toEqual([]);
    expect(fixture.read).toBe(0);
  });

  it('is left to the next one that has begun, also where the watch does not show it yet', async () => {
    const fixture = await rebooting();
    fixture.actual = AGAIN;
    fixture.nodes.put(ON_B);
    await pass(15_000);
    expect(fixture.read).toBe(1);

    fixture.nodes.put(AGAIN);
    await pass(60_000);

    expect(fixture.applied).toEqual([]);
    expect(fixture.read).toBe(1);
  });

  it('is checked again when somebody else writes its MachineConfigNode meanwhile', async () => {
    const fixture = await rebooting();
    fixture.conflict = true;
    fixture.nodes.put(BACK_ON_A);
    await pass(15_000);
    fixture.conflict = false;
    fixture.applied.length = 0;

    await pass(60_000);

    const cancelled = { type: 'Updated', status: 'True', reason: 'UpdateCancelled' };
    expect(fixture.applied).toEqual([
      { metadata: {}, spec: { configVersion: { desired: 'a' } } },
      {
        metadata: { name: 'n1', resourceVersion: '8' },
        status: expect.objectContaining({
          conditions: expect.arrayContaining([expect.objectContaining(cancelled)]) as unknown,
        }) as unknown,
      },
    ]);
  });
});
