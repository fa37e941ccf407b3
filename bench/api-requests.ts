/**
 * Slipway's requests to the API server, from the server's own metrics.
 *
 * The request metrics name no client, but flow control counts the requests of each FlowSchema: one
 * takes the reads of Slipway's users and one their writes. Leases are left out; events are counted.
 */

import type { KubernetesObject } from '@kubernetes/client-node';
import type { Cluster } from '../tools/cluster';
import type { Manifests } from '../tools/stack/manifests';

export interface ApiRequests {
  readonly writes: number;
  readonly reads: number;
}

const VERBS = {
  'slipway-reads': ['get', 'list', 'watch'],
  'slipway-writes': ['create', 'update', 'patch', 'delete', 'deletecollection'],
} as const;

const USERS = ['slipway-controllers', 'slipway-cluster-worker', 'slipway-server'];

/** Without `coordination.k8s.io`: the number of Leases does not grow with the nodes. */
const GROUPS = [
  '',
  'apps',
  'config.openshift.io',
  'policy',
  'machineconfiguration.openshift.io',
  'operator.openshift.io',
  'slipway.dev',
];

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

/** Requests that the server has dispatched since `tellSlipwayApart`. */
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
