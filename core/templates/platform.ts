/** The platform of the cluster, as the templates see it. */

import { textAt, valueAt } from '../values-at';
import type { TemplateFinding } from './types';

const STATUS = ['spec', 'infra', 'status', 'platformStatus'] as const;

export const PLATFORM_TYPE: readonly string[] = [...STATUS, 'type'];

/** The words of MCO. */
const NO_TYPE = 'cannot generate MachineConfigs when no platformStatus.type is set';

/** In lower case. */
const PLATFORMS = [
  'alibabacloud',
  'aws',
  'azure',
  'baremetal',
  'equinixmetal',
  'external',
  'gcp',
  'ibmcloud',
  'kubevirt',
  'libvirt',
  'none',
  'nutanix',
  'openstack',
  'ovirt',
  'powervs',
  'vsphere',
];

/** Whose cloud controller manager runs as pods, so that kubelets wait for it. */
const EXTERNAL_CLOUD = [
  'alibabacloud',
  'aws',
  'azure',
  'gcp',
  'ibmcloud',
  'kubevirt',
  'nutanix',
  'openstack',
  'powervs',
  'vsphere',
];

interface Platform {
  readonly values: Readonly<Record<string, string>>;
  readonly findings: readonly TemplateFinding[];
  readonly warnings: readonly TemplateFinding[];
}

/**
 * An unknown platform counts as none.
 *
 * @see MCO pkg/controller/template/render.go (7ff337a4), platformStringFromControllerConfigSpec
 */
export function platformOf(config: unknown): Platform {
  const path = PLATFORM_TYPE;
  const type = textAt(config, ...path) ?? '';
  if (type === '') {
    const finding = { path, problem: NO_TYPE, fix: 'add it; None for machines of no cloud' };
    return { values: {}, findings: [finding], warnings: [] };
  }
  const name = type.toLowerCase();
  if (!PLATFORMS.includes(name)) {
    const problem = `"${type}" is no platform that the templates know, and counts as None`;
    const warning = { path, problem, fix: 'write None, or a platform of docs/templates.md' };
    return { values: { platform: 'none' }, findings: [], warnings: [warning] };
  }
  const isExternal =
    EXTERNAL_CLOUD.includes(name) ||
    (name === 'external' &&
      valueAt(config, ...STATUS, 'external', 'cloudControllerManager', 'state') === 'External');
  const values = { platform: name, ...(isExternal ? { cloudProvider: 'external' } : {}) };
  return { values, findings: [], warnings: [] };
}
