/** Pools as the render controller makes them, and all additions of a cluster to a first config. */

import { gunzipSync } from 'node:zlib';
import type { KubeObject } from '../../../adapters/kube/resources';
import { bootstrapKubeconfig, type FirstBootFacts } from '../../../core/first-boot';
import { renderForHosts } from '../../../core/machine-config';
import type { MachineConfig } from '../../../core/machine-config/types';
import { filledManifests } from '../crds/api-server';
import { firstConfig } from './first-configs';

const ROLE = 'machineconfiguration.openshift.io/role';
export const ports = {
  gunzip: (bytes: Uint8Array) => gunzipSync(bytes),
};
export const PEM = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const AUTHORITY = Buffer.from(PEM).toString('base64');
export const FACTS: FirstBootFacts = {
  kubeconfig: bootstrapKubeconfig({
    server: 'https://api.example.com:6443',
    authority: AUTHORITY,
    token: 'a.b.c',
  }),
  kubeletAuthority: AUTHORITY,
  cloudAuthority: AUTHORITY,
  registryAuthorities: { 'registry.example.com:5000': PEM },
};

/** MachineConfigs of deploy/samples and deploy/examples, and one with every property. */
function sources(): readonly MachineConfig[] {
  const everything = {
    kind: 'MachineConfig',
    metadata: { name: '99-everything', labels: { [ROLE]: 'worker' } },
    spec: { config: firstConfig('3.5.0') },
  };
  const found = filledManifests<KubeObject & MachineConfig>();
  return [...found.filter(({ kind }) => kind === 'MachineConfig'), everything];
}

/** The rendered config of a pool that selects these roles. */
export function renderedPool(pool: string, roles: readonly string[]): MachineConfig {
  const { name, spec, annotations } = renderForHosts({
    pool,
    sources: sources().filter(({ metadata }) => roles.includes(metadata.labels?.[ROLE] ?? '')),
    controllerConfig: {
      baseOSContainerImage: 'registry.example.com/os@sha256:1',
      baseOSExtensionsContainerImage: '',
      releaseVersion: '1.0.0',
      controllerVersion: '1.0.0',
    },
    ports,
  });
  return { metadata: { name, annotations }, spec };
}
