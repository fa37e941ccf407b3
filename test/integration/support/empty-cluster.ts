/** Removes what the file before has left in the cluster; CRDs stay. */

import { createApiClient, type ApiClient } from '../../../tools/cluster';
import type { ClusterLayout } from '../../../tools/cluster/layout';

interface Listed {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string }[];
  };
}

interface Definitions {
  readonly items: readonly Definition[];
}

/** The owners first, so that nobody makes their objects again. */
const IN_NAMESPACES = [
  '/apis/apps/v1/NS/deployments',
  '/apis/apps/v1/NS/replicasets',
  '/apis/apps/v1/NS/daemonsets',
  '/apis/apps/v1/NS/statefulsets',
  '/api/v1/NS/pods',
  '/apis/policy/v1/NS/poddisruptionbudgets',
  '/api/v1/NS/secrets',
  '/api/v1/NS/events',
  '/apis/coordination.k8s.io/v1/NS/leases',
];
/** Kubernetes has some of these in `kube-system` and `kube-public`. */
const ROLES_IN_NAMESPACES = [
  '/apis/rbac.authorization.k8s.io/v1/NS/rolebindings',
  '/apis/rbac.authorization.k8s.io/v1/NS/roles',
];
/** Kubernetes has some of these in each of its own namespaces. */
const IN_OTHER_NAMESPACES = ['/api/v1/NS/serviceaccounts', '/api/v1/NS/configmaps'];
const ROLES = '/apis/rbac.authorization.k8s.io/v1';
/** Of Kubernetes itself. */
const ITS_OWN = /^(default|kube-.*|system:.*|cluster-admin|admin|edit|view)$/;

export async function emptyCluster({ server, authority, admin }: ClusterLayout): Promise<void> {
  const api = createApiClient(server, authority.certificate, admin);
  try {
    const namespaces = await namesIn(api, '/api/v1/namespaces');
    for (const namespace of namespaces) await emptyNamespace(api, namespace, IN_NAMESPACES);
    for (const namespace of namespaces.filter((name) => !name.startsWith('kube-'))) {
      await emptyNamespace(api, namespace, ROLES_IN_NAMESPACES);
    }
    for (const namespace of namespaces.filter((name) => !ITS_OWN.test(name))) {
      await emptyNamespace(api, namespace, IN_OTHER_NAMESPACES);
      await removeNamespace(api, namespace);
    }
    await api.call('DELETE', '/api/v1/nodes');
    for (const plural of ['clusterrolebindings', 'clusterroles']) {
      for (const name of await namesIn(api, `${ROLES}/${plural}`)) {
        if (!ITS_OWN.test(name)) await api.call('DELETE', `${ROLES}/${plural}/${name}`);
      }
    }
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const { items } = await api.call<Definitions>('GET', definitions);
    for (const { spec } of items) await removeAllOf(api, spec);
  } finally {
    api.close();
  }
}

async function removeAllOf(api: ApiClient, definition: Definition['spec']): Promise<void> {
  const { group, names, versions, scope } = definition;
  // Those of other namespaces went with them.
  const place = scope === 'Namespaced' ? 'namespaces/default/' : '';
  const path = `/apis/${group}/${versions[0]?.name ?? ''}/${place}${names.plural}`;
  await api.call('DELETE', path);
  // Whoever would take its finalizer off has ended.
  for (const name of await namesIn(api, path)) {
    await api.call('PATCH', `${path}/${name}`, { metadata: { finalizers: null } });
  }
}

async function namesIn(api: ApiClient, path: string): Promise<readonly string[]> {
  const { items } = await api.call<Listed>('GET', path);
  return items.map(({ metadata }) => metadata.name);
}

async function emptyNamespace(
  api: ApiClient,
  namespace: string,
  paths: readonly string[],
): Promise<void> {
  for (const path of paths) {
    const collection = path.replace('NS', `namespaces/${namespace}`);
    await api.call('DELETE', `${collection}?gracePeriodSeconds=0`);
  }
}

/** Its controller would remove its content, which is gone, and then the namespace. */
async function removeNamespace(api: ApiClient, name: string): Promise<void> {
  await api.call('DELETE', `/api/v1/namespaces/${name}`);
  await api.call('PUT', `/api/v1/namespaces/${name}/finalize`, {
    ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    spec: { finalizers: [] },
  });
}
