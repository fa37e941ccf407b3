import { ANNOTATION, LABEL } from '../../../../core/names';
import type { Node } from '../../../../core/node/types';
import type { MachineConfigPool } from '../../../../core/pool/types';

export const A = 'rendered-worker-a';
export const B = 'rendered-worker-b';

/** Facts of a node; the default is a healthy node, Done on config A. */
export interface NodeFacts {
  readonly current?: string;
  readonly desired?: string;
  readonly state?: string;
  readonly reason?: string;
  readonly ready?: string;
  readonly cordoned?: boolean;
  readonly cordonedBy?: string;
  readonly zone?: string;
  /** RFC 3339. */
  readonly created?: string;
  readonly deleted?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export function aNode(name: string, facts: NodeFacts = {}): Node {
  const current = facts.current ?? A;
  const annotations: Record<string, string> = {
    [ANNOTATION.CURRENT_CONFIG]: current,
    [ANNOTATION.DESIRED_CONFIG]: facts.desired ?? current,
    [ANNOTATION.STATE]: facts.state ?? 'Done',
    ...(facts.reason === undefined ? {} : { [ANNOTATION.REASON]: facts.reason }),
    ...(facts.cordonedBy === undefined ? {} : { [ANNOTATION.CORDONED_BY]: facts.cordonedBy }),
    ...facts.annotations,
  };
  return {
    metadata: {
      name,
      labels: {
        ...facts.labels,
        ...(facts.zone === undefined ? {} : { [LABEL.ZONE]: facts.zone }),
      },
      annotations,
      creationTimestamp: facts.created ?? '2029-01-01T00:00:00Z',
      ...(facts.deleted === undefined ? {} : { deletionTimestamp: facts.deleted }),
    },
    spec: { unschedulable: (facts.cordoned ?? false) || facts.cordonedBy !== undefined },
    status: {
      conditions: [
        {
          type: 'Ready',
          status: facts.ready ?? 'True',
          reason: 'KubeletReady',
          message: 'kubelet stopped posting node status',
          lastTransitionTime: '2029-06-01T00:00:00Z',
        },
      ],
    },
  };
}

export function aNewNode(name: string, facts: Pick<NodeFacts, 'ready'> = {}): Node {
  const { metadata, ...rest } = aNode(name, facts);
  return { ...rest, metadata: { ...metadata, annotations: {} } };
}

export function aPool(
  spec: MachineConfigPool['spec'] = {},
  rest: { readonly name?: string; readonly status?: NonNullable<MachineConfigPool['status']> } = {},
): MachineConfigPool {
  return {
    metadata: { name: rest.name ?? 'worker', generation: 7 },
    spec: { configuration: { name: B }, ...spec },
    ...(rest.status === undefined ? {} : { status: rest.status }),
  };
}

export function updated(name: string, facts: NodeFacts = {}): Node {
  return aNode(name, { current: B, ...facts });
}

export function namesOf(nodes: readonly Node[]): readonly string[] {
  return nodes.map((node) => node.metadata.name);
}
