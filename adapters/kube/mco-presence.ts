/** Slipway and the Machine Config Operator would fight over nodes. */

import type { KubeClient } from './client';
import { CLUSTER_OPERATORS, DEPLOYMENTS, type KubeObject } from './resources';
import { unlessAbsent } from './unless-absent';

const NAMESPACE = 'openshift-machine-config-operator';
const OPERATORS = ['machine-config-operator', 'machine-config-controller'];

/** In words; undefined = MCO does not run here. */
export async function findMco(client: KubeClient): Promise<string | undefined> {
  const exists = async (reading: Promise<KubeObject>): Promise<boolean> =>
    (await unlessAbsent(reading)) !== undefined;
  if (await exists(client.get(CLUSTER_OPERATORS, { name: 'machine-config' }))) {
    return 'ClusterOperator machine-config';
  }
  for (const name of OPERATORS) {
    if (await exists(client.get(DEPLOYMENTS, { name, namespace: NAMESPACE }))) {
      return `Deployment ${NAMESPACE}/${name}`;
    }
  }
  return undefined;
}
