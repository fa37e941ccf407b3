import type { KubernetesObject } from '@kubernetes/client-node';

export interface Workload {
  readonly app: string;
  readonly replicas: number;
  /** Pods that must always be ready. */
  readonly minAvailable: number;
  /** From deletion to removal. */
  readonly terminationMs: number;
}

export const NAMESPACE = 'shop';

/** 48 pods of four kinds, each under a budget. */
export const SHOP: readonly Workload[] = [
  { app: 'cart', replicas: 8, minAvailable: 7, terminationMs: 600 },
  { app: 'catalog', replicas: 12, minAvailable: 10, terminationMs: 400 },
  { app: 'checkout', replicas: 4, minAvailable: 3, terminationMs: 800 },
  { app: 'frontend', replicas: 24, minAvailable: 20, terminationMs: 300 },
];

/** Namespace, Deployments, budgets. */
export function workloadObjects(workloads: readonly Workload[]): readonly KubernetesObject[] {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } };
  return [namespace, ...workloads.flatMap((workload) => [deployment(workload), budget(workload)])];
}

function deployment({ app, replicas, terminationMs }: Workload): KubernetesObject {
  const labels = { app };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: app, namespace: NAMESPACE, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: { [TERMINATION_ANNOTATION]: `${terminationMs}ms` } },
        spec: {
          topologySpreadConstraints: [
            {
              maxSkew: 1,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'ScheduleAnyway',
              labelSelector: { matchLabels: labels },
            },
          ],
          containers: [{ name: app, image: `registry.example.com/shop/${app}:1` }],
        },
      },
    },
  } as KubernetesObject;
}

/** Read by a KWOK stage (tools/kwok/stages.yaml). */
const TERMINATION_ANNOTATION = 'pod-delete.stage.kwok.x-k8s.io/delay';

function budget({ app, minAvailable }: Workload): KubernetesObject {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: app, namespace: NAMESPACE },
    spec: { minAvailable, selector: { matchLabels: { app } } },
  } as KubernetesObject;
}
