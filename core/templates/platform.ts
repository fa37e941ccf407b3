/** The platform of the cluster, as the templates see it. */

import { isRecord } from '../is-record';
import type { TemplateFinding } from './types';

const TYPE = ['spec', 'infra', 'status', 'platformStatus', 'type'];

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
  const status = at(at(at(config, 'spec'), 'infra'), 'status');
  const platformStatus = at(status, 'platformStatus');
  const type = at(platformStatus, 'type');
  if (typeof type !== 'string' || type === '') {
    const finding = { path: TYPE, problem: NO_TYPE, fix: 'add it; None for machines of no cloud' };
    return { values: {}, findings: [finding], warnings: [] };
  }
  const name = type.toLowerCase();
  if (!PLATFORMS.includes(name)) {
    const problem = `"${type}" is no platform that the templates know, and counts as None`;
    const warning = { path: TYPE, problem, fix: 'write None, or a platform of docs/templates.md' };
    return { values: { platform: 'none' }, findings: [], warnings: [warning] };
  }
  const isExternal =
    EXTERNAL_CLOUD.includes(name) ||
    (name === 'external' &&
      at(at(at(platformStatus, 'external'), 'cloudControllerManager'), 'state') === 'External');
  const values = { platform: name, ...(isExternal ? { cloudProvider: 'external' } : {}) };
  return { values, findings: [], warnings: [] };
}

function at(object: unknown, field: string): unknown {
  return isRecord(object) ? object[field] : undefined;
}
