/** Slipway and the Machine Config Operator would fight over nodes. */

import { failureName } from '../../core/errors';
import type { KubeClient } from './client';
import { CLUSTER_OPERATORS, DEPLOYMENTS, type KubeObject, type Resource } from './resources';

const NAMESPACE = 'openshift-machine-config-operator';
const OPERATORS = ['machine-config-operator', 'machine-config-controller'];

/** In words; undefined = MCO does not run here. */
export async function findMco(client: KubeClient): Promise<string | undefined> {
  if (await exists(client, CLUSTER_OPERATORS, { name: 'machine-config' })) {
    return 'ClusterOperator machine-config';
  }
  for (const name of OPERATORS) {
    if (await exists(client, DEPLOYMENTS, { name, namespace: NAMESPACE })) {
      return `Deployment ${NAMESPACE}/${name}`;
    }
  }
  return undefined;
}

async function exists(
  client: KubeClient,
  resource: Resource<KubeObject>,
  key: { readonly name: string; readonly namespace?: string },
): Promise<boolean> {
  try {
    await client.get(resource, key);
    return true;
  } catch (error) {
    if (failureName(error) === 'ObjectNotFound') return false;
    throw error;
  }
}
