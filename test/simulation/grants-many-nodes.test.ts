/** A pool of 1,500 nodes that may all be out at once: steps of its rollout on an API server that answers at once. */

import { createStep } from '../../activities/cluster/step/step';
import type { StepPorts } from '../../activities/cluster/step/ports';
import { fail } from '../../core/errors';
import { ANNOTATION, LABEL, NodeState } from '../../core/names';
import { preparedMark } from '../../core/node/prepared';
import { markOf, overMarkOf, type UpdateRun } from '../../core/node/turn';
import type { MachineConfigNode, Node } from '../../core/node/types';
import type { MachineConfigPool } from '../../core/pool/types';
import type { PoolRollout } from '../../core/rollout/pool-rollout';
import { START } from './trace';

const NODES = 1_500;
const GRANTS_AT_MOST = 1_000;
/** A third of what etcd takes by default. */
const OBJECT_AT_MOST = 512 * 1024;
/** As long as the product makes them. */
const OLD = `rendered-worker-${'a'.repeat(32)}`;
const NEW = `rendered-worker-${'b'.repeat(32)}`;

const POOL: MachineConfigPool = {
  metadata: { name: 'worker', uid: uuid(0) },
  spec: {
    nodeSelector: { matchLabels: { [LABEL.WORKER]: '' } },
    machineConfigSelector: {},
    maxUnavailable: '100%',
    configuration: { name: NEW },
  },
};

/** Of the length of a UID or a run ID. */
function uuid(number: number): string {
  return `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

/** Of the length of a name in a cloud. */
function nameOf(number: number): string {
  return `ip-10-0-${Math.floor(number / 250)}-${number % 250}.eu-central-1.compute.internal`;
}

/** All updates of a pool are prepared: each takes its node out with its grant, and gives it back when told. */
class LargePool {
  readonly nodes = new Map<string, Node>();
  readonly updates = new Map<string, UpdateRun>();
  private readonly prepared = new Map<string, MachineConfigNode>();
  private rollout: PoolRollout | undefined;
  private version = 0;
  private nowMs = START;

  constructor() {
    for (let i = 0; i < NODES; i += 1) {
      const name = nameOf(i);
      const run = { id: uuid(10_000 + i), startedAt: new Date(START).toISOString() };
      this.updates.set(name, run);
      this.nodes.set(name, nodeOn(name, uuid(100_000 + i), OLD));
      const annotations = { [ANNOTATION.PREPARED]: preparedMark(run, NEW, false) };
      const spec = { node: { name }, pool: { name: 'worker' }, configVersion: { desired: OLD } };
      this.prepared.set(name, { metadata: { name, annotations }, spec });
    }
  }

  get said() {
    const status = this.rollout?.status;
    if (status === undefined) throw new Error('no step has written yet');
    return status;
  }

  get bytes(): number {
    return Buffer.byteLength(JSON.stringify(this.rollout));
  }

  out(): readonly string[] {
    return [...this.nodes].filter(([, { spec }]) => spec?.unschedulable).map(([name]) => name);
  }

  takeOut(name: string): void {
    const run = this.runOf(name);
    const marks = { [ANNOTATION.UPDATE_RUN]: markOf(run), [ANNOTATION.STATE]: NodeState.WORKING };
    this.write(name, {
      ...marks,
      [ANNOTATION.DESIRED_CONFIG]: NEW,
      [ANNOTATION.CORDONED_BY]: run.id,
    });
  }

  giveBack(name: string): void {
    const run = this.runOf(name);
    this.updates.delete(name);
    const marks = { [ANNOTATION.UPDATE_RUN]: overMarkOf(run), [ANNOTATION.STATE]: NodeState.DONE };
    this.write(name, {
      ...marks,
      [ANNOTATION.DESIRED_CONFIG]: NEW,
      [ANNOTATION.CURRENT_CONFIG]: NEW,
    });
  }

  stepper() {
    const step = createStep(this.ports());
    return async () => {
      this.nowMs += 11_000;
      return step({ pool: 'worker' });
    };
  }

  private runOf(name: string): UpdateRun {
    const run = this.updates.get(name);
    if (run === undefined) throw new Error(`${name} has no update`);
    return run;
  }

  /** With our mark it is cordoned. */
  private write(name: string, annotations: Readonly<Record<string, string>>): void {
    const node = this.nodes.get(name);
    if (node === undefined) throw new Error(`there is no node ${name}`);
    const before = { ...node.metadata.annotations };
    delete before[ANNOTATION.CORDONED_BY];
    const unschedulable = ANNOTATION.CORDONED_BY in annotations;
    const metadata = { ...node.metadata, annotations: { ...before, ...annotations } };
    this.nodes.set(name, { ...node, metadata, spec: { unschedulable } });
  }

  private put(rollout: PoolRollout): Promise<PoolRollout> {
    const resourceVersion = String((this.version += 1));
    this.rollout = { ...rollout, metadata: { ...rollout.metadata, resourceVersion } };
    return Promise.resolve(this.rollout);
  }

  private ports(): StepPorts {
    const nothing = new Map<string, never>();
    const unexpected = (what: string) => () => Promise.reject(new Error(`nobody ${what} here`));
    return {
      now: () => this.nowMs,
      view: {
        nodes: shown(this.nodes),
        pools: shown(new Map([['worker', POOL]])),
        machineConfigNodes: shown(this.prepared),
        policies: shown(
          new Map([['worker', { metadata: { name: 'worker' }, spec: { canary: { nodes: 0 } } }]]),
        ),
        machineConfigurations: shown(nothing),
      },
      configs: { read: unexpected('reads configs') },
      nodes: {
        read: unexpected('reads Nodes'),
        change: unexpected('writes Nodes'),
        refresh: () => Promise.resolve(),
      },
      run: () => unexpected('warns')() as never,
      pools: { change: () => Promise.resolve(POOL) },
      events: {
        onNode: () => {
          throw new Error('nobody tells of Nodes here');
        },
        onPool: () => undefined,
      },
      poolRollouts: {
        read: () => Promise.resolve(this.rollout),
        create: ({ name, uid }) => {
          const owner = { apiVersion: 'v1', kind: 'MachineConfigPool', name, uid };
          return this.put({ metadata: { name, ownerReferences: [owner] } });
        },
        delete: unexpected('deletes PoolRollouts'),
        writeStatus: (read, status) => {
          const isSame = read.metadata.resourceVersion === this.rollout?.metadata.resourceVersion;
          if (!isSame) return Promise.reject(fail('Conflict', 'it has changed'));
          return this.put({ ...read, status });
        },
      },
      nodeUpdates: {
        listOpen: () =>
          Promise.resolve(
            [...this.updates].map(([node, { id: run }]) => ({ node, run, config: NEW })),
          ),
        isClosed: (node, run) => Promise.resolve(this.updates.get(node)?.id !== run),
        start: unexpected('starts updates'),
        cancel: unexpected('cancels updates'),
      },
    };
  }
}

function nodeOn(name: string, uid: string, config: string): Node {
  const annotations = {
    [ANNOTATION.CURRENT_CONFIG]: config,
    [ANNOTATION.DESIRED_CONFIG]: config,
    [ANNOTATION.STATE]: NodeState.DONE,
  };
  const labels = { [LABEL.WORKER]: '' };
  const status = { conditions: [{ type: 'Ready', status: 'True' }] };
  return { metadata: { name, uid, labels, annotations }, spec: {}, status };
}

function shown<T>(objects: ReadonlyMap<string, T>) {
  return {
    ...{ synced: Promise.resolve(), newest: 0, silentMs: 0 },
    reached: () => Promise.resolve(true),
    get: (name: string) => objects.get(name),
    list: () => [...objects.values()],
    subscribe: () => () => undefined,
  };
}

it('1,500 nodes out at once: 1,000 have a grant, which the pool says, and all complete', async () => {
  const pool = new LargePool();
  const step = pool.stepper();

  const { grantedCount } = await step();
  expect(grantedCount).toBe(GRANTS_AT_MOST);
  const first = pool.said.grants.map(({ node }) => node);
  expect(new Set(first).size).toBe(GRANTS_AT_MOST);
  expect(pool.bytes).toBeLessThan(OBJECT_AT_MOST);
  expect(pool.said.conditions).toContainEqual(
    expect.objectContaining({ type: 'GrantsLimited', status: 'True' }),
  );
  for (const name of first) pool.takeOut(name);
  await step();
  expect(pool.said.grants.map(({ node }) => node)).toEqual(first);
  expect(pool.said.counts).toMatchObject({ outOfService: 1_000, mayBeOut: 1_000, waiting: 500 });

  // As many as are given back are granted, and never more.
  const given = first.slice(0, 300);
  for (const name of given) pool.giveBack(name);
  await step();
  for (const { node } of pool.said.grants) if (!pool.out().includes(node)) pool.takeOut(node);
  expect(pool.out()).toHaveLength(GRANTS_AT_MOST);

  for (const name of pool.out()) pool.giveBack(name);
  await step();
  expect(pool.said.grants).toHaveLength(200);
  for (const { node } of pool.said.grants) pool.giveBack(node);
  const { ended } = await step();
  expect(ended).toBe('completed');
  expect(pool.said).toMatchObject({ state: 'Completed', done: '1500/1500', grants: [] });
});
