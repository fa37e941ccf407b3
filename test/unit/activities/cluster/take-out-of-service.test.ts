import { createTakeOutOfService } from '../../../../activities/cluster/take-out-of-service';
import type { ActivityRun, ClusterPorts, NodeChange } from '../../../../activities/cluster/ports';
import { fail } from '../../../../core/errors';
import { ANNOTATION, LABEL } from '../../../../core/names';
import { markOf, overMarkOf } from '../../../../core/node/turn';
import type { MachineConfigNode, Node } from '../../../../core/node/types';
import type { TakeOutInput } from '../../../../workflows/contracts/cluster';
import { aPool } from '../../core/pool/builders';
import { aRun, B, cordoned, decideOn, grantOf, old, OURS } from '../../core/rollout/rollout-pool';
import { pictureOf } from './picture-of';

const STEP: TakeOutInput = {
  ...{ node: 'n', uid: 'uid-n', pool: 'worker', config: B, run: aRun('r1') },
  ...{ workflowId: OURS, cordon: true, summary: 'reboot' },
};
const TAKEN = {
  annotations: {
    [ANNOTATION.UPDATE_RUN]: markOf(STEP.run),
    [ANNOTATION.DESIRED_CONFIG]: B,
    [ANNOTATION.STATE]: 'Working',
    [ANNOTATION.REASON]: '',
    [ANNOTATION.CORDONED_BY]: OURS,
  },
};

const worker = (node: Node): Node => ({
  ...node,
  metadata: { ...node.metadata, labels: { [LABEL.WORKER]: '' } },
});
const OTHER = worker(old('b'));

interface Scene {
  /** As the API server has it when it is written. */
  readonly node?: Node;
  readonly others?: readonly Node[];
  readonly stoodStillMs?: number;
  readonly isStatusRefused?: boolean;
}

/** Takes `n` out of service, which has its grant, and for which there is room. */
async function takeOut(scene: Scene = {}) {
  const { node = old('n'), others = [OTHER], stoodStillMs = 0 } = scene;
  const written: NodeChange[] = [];
  const events: string[] = [];
  const conditions: Record<string, string> = {};
  let now = 0;
  const { status } = decideOn({ nodes: [] });
  const nodeSelector = { matchLabels: { [LABEL.WORKER]: '' } };
  const spec = { configuration: { name: B }, nodeSelector, maxUnavailable: 1 };
  const granted = { metadata: { name: 'worker' }, status: { ...status, grants: [grantOf('n')] } };
  const shown = { metadata: { name: 'n' } } as MachineConfigNode;
  const run = {
    signal: new AbortController().signal,
    log: { debug: () => undefined, info: () => undefined, warn: () => undefined },
  } as unknown as ActivityRun;
  const take = createTakeOutOfService({
    run: () => run,
    now: () => now,
    view: {
      nodes: pictureOf([worker(old('n')), ...others]),
      pools: pictureOf([aPool(spec)]),
      machineConfigNodes: pictureOf<MachineConfigNode>([]),
      poolRollouts: pictureOf([granted]),
    },
    nodes: {
      change: (_name: string, decide: (known: Node) => NodeChange | undefined) => {
        now += stoodStillMs;
        return Promise.resolve().then(() => {
          const change = decide(worker(node));
          if (change !== undefined) written.push(change);
          return change === undefined ? node : cordoned('n');
        });
      },
    },
    nodeUpdates: { isClosed: () => Promise.resolve(true) },
    machineConfigNodes: {
      applySpec: () => Promise.resolve(shown),
      applyStatus: (_name: string, said: NonNullable<MachineConfigNode['status']>) => {
        if (scene.isStatusRefused === true) return Promise.reject(fail('ApiForbidden', 'status'));
        for (const { type, status: is } of said.conditions ?? []) conditions[type] = is;
        return Promise.resolve(shown);
      },
    },
    events: {
      onNode: (_node: unknown, { reason }: { readonly reason: string }) => {
        events.push(reason);
        return Promise.resolve();
      },
    },
  } as unknown as ClusterPorts);
  const result = await take(STEP).catch(({ name, message }: Error) => `${name}: ${message}`);
  return { result, written, events, conditions };
}

describe('a node whose update has its grant, and for which there is room', () => {
  it('is targeted and cordoned in one write, and shown as being drained', async () => {
    const { result, written, conditions, events } = await takeOut();

    expect(result).toEqual({ cordoned: true });
    expect(events).toEqual(['Cordon']);
    expect(written).toMatchObject([{ ...TAKEN, unschedulable: true }]);
    expect(conditions).toMatchObject({ Cordoned: 'True', Drained: 'Unknown' });
  });

  it('goes on, also when nobody may write its MachineConfigNode', async () => {
    const { result, written } = await takeOut({ isStatusRefused: true });

    expect([result, written.length]).toEqual([{ cordoned: true }, 1]);
  });

  it('is written once, also when the answer was lost', async () => {
    const { result, written, events } = await takeOut({
      node: cordoned('n', 'r1', { annotations: { [ANNOTATION.REASON]: '' } }),
    });

    expect([result, written, events]).toEqual([{ cordoned: true }, [], []]);
  });

  it('is targeted only, as the only node of its cluster', async () => {
    const { written, result, events } = await takeOut({ others: [] });

    expect(written).toMatchObject([{ annotations: { [ANNOTATION.DESIRED_CONFIG]: B } }]);
    expect(written[0]).not.toHaveProperty('unschedulable');
    expect(result).toMatchObject({ drained: { evicted: 0, left: 0 } });
    expect(events).toEqual(['DrainSkipped']);
  });

  it.each<[string, Scene, RegExp]>([
    ['a person has cordoned it', { node: old('n', { cordoned: true }) }, /^CordonedByUser: /],
    [
      'a person has skipped it',
      { node: old('n', { annotations: { [ANNOTATION.HELD_FOR]: B } }) },
      /^HeldByUser: /,
    ],
    [
      'its run was said to be over',
      { node: old('n', { annotations: { [ANNOTATION.UPDATE_RUN]: overMarkOf(STEP.run) } }) },
      /^UpdateSuperseded: .*the update is over$/,
    ],
    [
      'another node has its name',
      { node: { ...OTHER, metadata: { name: 'n', uid: 'x' } } },
      /^NodeDeleted: /,
    ],
    ['the process has stood still since', { stoodStillMs: 15_001 }, /^Conflict: /],
  ])('is left alone when %s', async (_when, scene, refused) => {
    const { result, written } = await takeOut(scene);

    expect(result).toMatch(refused);
    expect(written).toEqual([]);
  });
});
