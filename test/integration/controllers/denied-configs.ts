/** An API server that refuses to create some MachineConfigs. */

import type { KubeClient } from '../../../adapters/kube/client';
import type { Resource } from '../../../adapters/kube/resources';
import { applyManifest, eventually } from '../kube/fixture';
import { aConfig } from './fixture';

const apiVersion = 'admissionregistration.k8s.io/v1';
const BINDINGS: Resource = {
  ...{ group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false },
  ...{ plural: 'validatingadmissionpolicybindings', kind: 'ValidatingAdmissionPolicyBinding' },
};

/** In force when this returns. @returns ends it */
export async function denyConfigs(
  client: KubeClient,
  prefix: string,
  message: string,
): Promise<() => Promise<void>> {
  const metadata = { name: prefix };
  const resourceRules = [
    {
      apiGroups: ['machineconfiguration.openshift.io'],
      apiVersions: ['v1'],
      operations: ['CREATE'],
      resources: ['machineconfigs'],
    },
  ];
  await applyManifest(client, {
    ...{ apiVersion, kind: 'ValidatingAdmissionPolicy', metadata },
    spec: {
      matchConstraints: { resourceRules },
      matchConditions: [{ name: 'name', expression: `request.name.startsWith('${prefix}')` }],
      validations: [{ expression: 'false', message }],
    },
  });
  await applyManifest(client, {
    ...{ apiVersion, kind: BINDINGS.kind, metadata },
    spec: { policyName: prefix, validationActions: ['Deny'] },
  });
  await eventually(async () => {
    const path = '/apis/machineconfiguration.openshift.io/v1/machineconfigs?dryRun=All';
    const tried = {
      ...{ apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'MachineConfig' },
      ...aConfig(`${prefix}-try`, 'worker'),
    };
    const asked = await client.post(path, tried, 'try');
    expect(JSON.stringify(asked)).toContain(message);
  });
  return () => client.delete(BINDINGS, metadata);
}
