/** Manifests as texts, read as `slipway render` reads them. */

import { readManifestObjects } from '../../../../adapters/manifests';
import {
  renderManifests,
  type EarlierConfigs,
  type OfflineRender,
  type Rest,
} from '../../../../controllers/offline';

export const ROLE = 'machineconfiguration.openshift.io/role';

/** A pool that selects its own role. */
export function poolText(name: string, more = ''): string {
  return `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: ${name}
spec:
  machineConfigSelector:
    matchLabels: {${ROLE}: ${name}}
  nodeSelector:
    matchLabels: {node-role.kubernetes.io/${name}: ''}
${more}`;
}

/** A MachineConfig whose spec begins at line 8. */
export function configText(name: string, role: string, spec: string): string {
  return `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: ${name}
  labels:
    ${ROLE}: ${role}
spec:
${spec}`;
}

export function fileSpec(path: string, more = 'contents: {source: "data:,x"}'): string {
  return `  config:
    ignition: {version: 3.2.0}
    storage:
      files:
        - path: ${path}
          mode: 0644
          ${more}
`;
}

export function renderTexts(
  files: Readonly<Record<string, string>>,
  earlier: EarlierConfigs = new Map(),
  rest: Rest = 'unknown',
): OfflineRender {
  const list = Object.entries(files).map(([path, text]) => ({ path, text }));
  const { objects, problems } = readManifestObjects(list);
  return renderManifests({ objects, unreadable: problems, earlier, version: '0.0.0-test', rest });
}

/** `file:line field problem`, sorted by place. */
export function findingsOf(render: OfflineRender): readonly string[] {
  return render.findings.map(({ severity, file, line, field, problem }) =>
    [`${severity} ${file}:${line}`, field, problem].filter((part) => part !== undefined).join(' '),
  );
}
