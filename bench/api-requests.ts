/**
 * Slipway's requests to the API server, from the server's own metrics.
 *
 * The request metrics name no client, and the controller manager patches Nodes too (taints). Flow
 * control does tell clients apart: one FlowSchema for the reads of Slipway's users and one for their
 * writes, and the server counts what it dispatched under each. Leases are left out; events are in.
 */

import type { KubernetesObject } from '@kubernetes/client-node';
import type { Cluster } from '../tools/cluster';
import type { Manifests } from '../tools/stack/manifests';

export interface ApiRequests {
  readonly writes: number;
  /** GET, LIST and the start of each WATCH. */
  readonly reads: number;
}

const VERBS = {
  'slipway-reads': ['get', 'list', 'watch'],
  'slipway-writes': ['create', 'update', 'patch', 'delete', 'deletecollection'],
} as const;

const USERS = ['slipway-controllers', 'slipway-cluster-worker', 'slipway-server'];

/** Every group that Slipway touches but `coordination.k8s.io`, whose Leases are not per node. */
const GROUPS = [
  '',
  'apps',
  'policy',
  'machineconfiguration.openshift.io',
  'operator.openshift.io',
  'slipway.dev',
];

/** Makes the API server count Slipway's requests apart from everybody else's. */
export async function tellSlipwayApart(manifests: Manifests): Promise<void> {
  for (const [name, verbs] of Object.entries(VERBS)) {
    await manifests.applyObject({
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind: 'FlowSchema',
      metadata: { name },
      spec: {
        matchingPrecedence: 500,
        priorityLevelConfiguration: { name: 'workload-high' },
        rules: [
          {
            subjects: USERS.map((user) => ({ kind: 'User', user: { name: user } })),
            resourceRules: [
              {
                verbs,
                apiGroups: GROUPS,
                resources: ['*'],
                clusterScope: true,
                namespaces: ['*'],
              },
            ],
          },
        ],
      },
    } as KubernetesObject);
  }
}

/** How many requests of Slipway the server has dispatched since it was told. */
export async function countApiRequests(cluster: Cluster): Promise<ApiRequests> {
  const dispatched = { 'slipway-reads': 0, 'slipway-writes': 0 };
  for (const line of (await cluster.apiServerMetrics()).split('\n')) {
    if (!line.startsWith('apiserver_flowcontrol_dispatched_requests_total{')) continue;
    const schema = /flow_schema="([^"]*)"/.exec(line)?.[1];
    if (schema !== 'slipway-reads' && schema !== 'slipway-writes') continue;
    dispatched[schema] += Number(line.slice(line.lastIndexOf(' ') + 1));
  }
  return { writes: dispatched['slipway-writes'], reads: dispatched['slipway-reads'] };
}

export function difference(after: ApiRequests, before: ApiRequests): ApiRequests {
  return { writes: after.writes - before.writes, reads: after.reads - before.reads };
}
