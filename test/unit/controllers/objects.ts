import type { MachineConfig } from '../../../core/machine-config/types';
import type { Node } from '../../../core/node/types';
import type { MachineConfigPool } from '../../../core/pool/types';

export const PREFIX = 'machineconfiguration.openshift.io';

export interface NodeShape {
  readonly name?: string;
  readonly roles?: readonly string[];
  readonly current?: string;
  readonly desired?: string;
  readonly state?: string;
  readonly cordoned?: 'person' | 'slipway';
  /** The update that has the node. */
  readonly run?: string;
  readonly ready?: boolean;
  readonly held?: string;
  readonly deleting?: boolean;
  readonly taints?: NonNullable<Node['spec']>['taints'];
}

export function aNode(shape: NodeShape = {}): Node {
  const {
    name = 'n1',
    roles = ['worker'],
    current,
    desired,
    state,
    cordoned,
    run,
    held,
    taints,
  } = shape;
  const annotations = Object.fromEntries(
    Object.entries({
      [`${PREFIX}/currentConfig`]: current,
      [`${PREFIX}/desiredConfig`]: desired,
      [`${PREFIX}/state`]: state,
      'slipway.dev/cordoned-by': cordoned === 'slipway' ? `update-node/${name}` : undefined,
      'slipway.dev/update-run': run === undefined ? undefined : `v1/2026-01-01T00:00:00Z/${run}`,
      'slipway.dev/held-for': held,
    }).filter(([, value]) => value !== undefined),
  ) as Record<string, string>;
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      labels: Object.fromEntries(roles.map((role) => [`node-role.kubernetes.io/${role}`, ''])),
      annotations,
      ...(shape.deleting === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: {
      ...(cordoned === undefined ? {} : { unschedulable: true }),
      ...(taints === undefined ? {} : { taints }),
    },
    status: { conditions: [{ type: 'Ready', status: shape.ready === false ? 'False' : 'True' }] },
  };
}

export function aPool(
  name = 'worker',
  spec: Partial<MachineConfigPool['spec']> = {},
  more: Partial<Pick<MachineConfigPool, 'status'>> & {
    readonly annotations?: Readonly<Record<string, string>>;
  } = {},
): MachineConfigPool {
  const { annotations, ...rest } = more;
  return {
    metadata: { name, uid: `uid-${name}`, ...(annotations === undefined ? {} : { annotations }) },
    spec: {
      machineConfigSelector: { matchLabels: { [`${PREFIX}/role`]: name } },
      nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } },
      ...spec,
    },
    ...rest,
  };
}

export function aRendered(name: string, pool = 'worker', createdAt = ''): MachineConfig {
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      creationTimestamp: createdAt,
      ownerReferences: [
        {
          apiVersion: `${PREFIX}/v1`,
          kind: 'MachineConfigPool',
          name: pool,
          uid: `uid-${pool}`,
          controller: true,
        },
      ],
    },
    spec: {},
  };
}
