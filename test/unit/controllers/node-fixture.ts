import type { KubeObject, Resource } from '../../../adapters/kube/resources';
import type { ClusterPicture } from '../../../controllers/cluster-picture';
import { createEventRecorder } from '../../../controllers/event-recorder';
import type { Writer } from '../../../controllers/fenced-writer';
import { NodeController } from '../../../controllers/nodes';
import { fail } from '../../../core/errors';
import type { MachineConfig } from '../../../core/machine-config/types';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { MachineConfigPool, RolloutPolicy } from '../../../core/pool/types';
import { Objects } from './listed-objects';
import { aNode, aPool, aRendered } from './objects';

const QUIET = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

const NOW = '2026-01-01T00:00:00Z';
const stop: AbortController[] = [];

/** A node controller with one node and its MachineConfigNode; records its writes. */
export interface NodeFixture {
  readonly nodes: Objects<Node>;
  readonly pools: Objects<MachineConfigPool>;
  readonly policies: Objects<RolloutPolicy>;
  readonly machineConfigNodes: Objects<MachineConfigNode>;
  readonly patches: object[];
  readonly applied: object[];
  readonly events: (readonly [string, string, string])[];
  conflict: boolean;
  /** The node in the API server; absent = as the watch shows it. */
  actual?: Node;
  /** Number of reads from the API server. */
  read: number;
}

export function aFixture(node: Node, pool = aPool()): NodeFixture {
  const nodes = new Objects<Node>([node]);
  const pools = new Objects([pool]);
  const policies = new Objects<RolloutPolicy>();
  const known: MachineConfigNode = {
    metadata: { name: 'n1' },
    spec: {
      node: { name: 'n1' },
      pool: { name: 'worker' },
      configVersion: { desired: 'not-yet-set' },
    },
  };
  const machineConfigNodes = new Objects([known]);
  const fixture: NodeFixture = {
    ...{ nodes, pools, policies, machineConfigNodes },
    ...{ patches: [], applied: [], events: [] },
    ...{ conflict: false, read: 0 },
  };
  const writer: Partial<Writer> = {
    create: async <T extends KubeObject>(_resource: unknown, object: T) => object,
    apply: async <T extends KubeObject>(_resource: unknown, object: object) => {
      fixture.applied.push(object);
      return {} as T;
    },
    patch: async <T extends KubeObject>(resource: Resource<T>, _key: unknown, patch: object) => {
      const isNode = resource.plural === 'nodes';
      (isNode ? fixture.patches : fixture.applied).push(patch);
      if (fixture.conflict) throw fail('Conflict', 'the node has changed');
      return { metadata: { name: 'n1', resourceVersion: '8' } } as T;
    },
  };
  const picture: Partial<ClusterPicture> = {
    ...{ nodes, pools, policies, machineConfigNodes },
    machineConfigs: new Objects<MachineConfig>([aRendered('older'), aRendered('other', 'infra')]),
  };
  const leading = new AbortController();
  stop.push(leading);
  void new NodeController(
    {
      ...{ picture: picture as ClusterPicture, writer: writer as Writer, log: QUIET },
      events: createEventRecorder(
        {
          on: async (about, told) =>
            void fixture.events.push([about.name, told.reason, told.message]),
        },
        leading.signal,
        QUIET,
      ),
      readNode: async (name) => {
        fixture.read += 1;
        return fixture.actual ?? nodes.get(name) ?? aNode();
      },
      now: () => NOW,
    },
    leading.signal,
  );
  return fixture;
}

export const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

export function stopAll(): void {
  for (const one of stop.splice(0)) one.abort();
}
