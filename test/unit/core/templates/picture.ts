/** A look at templates that a test writes. */

import { readYaml } from '../../../../adapters/manifests';
import { fillTemplate } from '../../../../adapters/templates';
import { decodeDataUrl } from '../../../../core/encoding';
import type { Origin } from '../../../../core/generated-configs';
import type { IgnitionConfig, MachineConfig } from '../../../../core/machine-config';
import type { MachineConfigPool } from '../../../../core/pool/types';
import {
  findingText,
  lookAtTemplates,
  type TemplateFolder,
  type TemplateLook,
} from '../../../../core/templates';

export const ROLE = 'machineconfiguration.openshift.io/role';
export const PORTS = { fill: fillTemplate, readYaml };

export const FACTS = {
  clusterDNSIP: '10.96.0.10',
  infra: { status: { platformStatus: { type: 'None' } } },
};

export function aPool(name: string, roles: readonly string[] = [name]): MachineConfigPool {
  const machineConfigSelector = {
    matchExpressions: [{ key: ROLE, operator: 'In', values: roles }],
  };
  return { metadata: { name }, spec: { machineConfigSelector } };
}

export function aControllerConfig(
  spec: object = FACTS,
  annotations: Readonly<Record<string, string>> = { 'slipway.dev/templates': 'one' },
): Origin {
  const metadata = { name: 'machine-config-controller', uid: 'u1', generation: 3, annotations };
  return { metadata, ...{ spec } };
}

/** Path → text; `flavours.yaml` has the flavour `one` of the layers `all` and `own`. */
export function folder(texts: Readonly<Record<string, string>>): TemplateFolder {
  const all = {
    'flavours.yaml': 'one: [all, own]\n',
    'own/common/base/files/none.yaml': '',
    'all/common/base/files/none.yaml': '',
    ...texts,
  };
  return { files: Object.entries(all).map(([path, text]) => ({ path, text })) };
}

interface Given {
  readonly templates: TemplateFolder;
  readonly controllerConfig?: Origin;
  readonly pools?: readonly MachineConfigPool[];
  readonly machineConfigs?: readonly MachineConfig[];
}

export function lookAt({
  templates,
  controllerConfig = aControllerConfig(),
  pools = [aPool('worker')],
  machineConfigs = [],
}: Given): TemplateLook {
  return lookAtTemplates({
    ...{ controllerConfig, pools, machineConfigs, templates },
    ...{ ports: PORTS, version: '1.0.0', now: '2026-01-01T00:00:00Z' },
  });
}

export function configsIn({ objects }: TemplateLook): readonly MachineConfig[] {
  return objects.flatMap(({ writes }) =>
    writes.flatMap((write) => ('config' in write ? [write.config] : [])),
  );
}

export function findingsIn({ objects }: TemplateLook): readonly string[] {
  return objects.flatMap(({ findings }) => findings.map(findingText));
}

export function ignitionOf(config: MachineConfig | undefined): IgnitionConfig {
  return (config?.spec.config ?? { ignition: { version: '' } }) as IgnitionConfig;
}

export function fileText(config: MachineConfig | undefined, path: string): string | undefined {
  const file = ignitionOf(config).storage?.files?.find((one) => one.path === path);
  if (file === undefined) return undefined;
  const decoded = decodeDataUrl(file.contents?.source ?? 'data:,');
  return decoded.error === undefined ? new TextDecoder().decode(decoded.bytes) : undefined;
}
