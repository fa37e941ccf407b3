import type { MachineConfiguration } from '../../../core/disruption';
import type { ApiClient } from '../../../tools/cluster';
import type { Manifests } from '../../../tools/stack/manifests';

/** A change of this file only restarts this service. */
export async function restartOnChange(
  manifests: Manifests,
  path: string,
  serviceName: string,
): Promise<void> {
  const policies: object = {
    apiVersion: 'operator.openshift.io/v1',
    kind: 'MachineConfiguration',
    metadata: { name: 'cluster' },
    spec: {
      nodeDisruptionPolicy: {
        files: [{ path, actions: [{ type: 'Restart', restart: { serviceName } }] }],
      },
    },
  };
  await manifests.applyObject(policies);
}

export async function statusOfPolicies(api: ApiClient): Promise<unknown> {
  const path = '/apis/operator.openshift.io/v1/machineconfigurations/cluster';
  return (await api.call<MachineConfiguration>('GET', path)).status;
}
