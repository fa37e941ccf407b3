import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../../adapters/kube/resources';
import { repositoryRoot } from '../../../tools/repository-root';
import type { TestApiServer } from '../crds/api-server';
import { manifests } from '../crds/install';

const PATHS: Readonly<Record<string, string>> = {
  Namespace: '/api/v1/namespaces',
  ServiceAccount: '/api/v1/namespaces/NS/serviceaccounts',
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  Role: '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles',
  RoleBinding: '/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings',
};

/** Creates what is in deploy/rbac. */
export async function installRights(api: TestApiServer): Promise<void> {
  await create(api, await manifests<KubeObject>('rbac'));
}

/** Those in deploy/temporal, which are for the namespace of Temporal. */
export async function installTemporalRights(api: TestApiServer): Promise<void> {
  const namespace = 'temporal';
  const file = join(repositoryRoot(), 'deploy', 'temporal', 'certificates.yaml');
  const rights = parseAllDocuments(readFileSync(file, 'utf8')).map((one) => {
    const right = one.toJS() as KubeObject;
    return { ...right, metadata: { ...right.metadata, namespace } };
  });
  await create(api, [{ kind: 'Namespace', metadata: { name: namespace } }, ...rights]);
}

async function create(api: TestApiServer, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    const { name, namespace = '' } = object.metadata;
    const path = PATHS[object.kind ?? '']?.replace('NS', namespace) ?? '';
    const answer = await api.client.post(path, object, `create ${name}`);
    // Those of kube-system stay when a test empties the cluster.
    const isThere = !answer.ok && answer.status.code === 409 && namespace === 'kube-system';
    if (!isThere) expect({ name, answer }).toMatchObject({ name, answer: { ok: true } });
  }
}

/** The controllers with the rights in deploy/rbac. */
export async function withOwnRights(api: TestApiServer): Promise<{ readonly kubeconfig: string }> {
  await installRights(api);
  return { kubeconfig: await api.kubeconfigFor('slipway-controllers') };
}
