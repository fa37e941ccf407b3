/** Disruption policies of the stories, as a person gives them to the cluster. */

import type { Manifests } from '../../../tools/stack/manifests';

/** From now on, a change of this file costs a restart of this service and nothing else. */
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
