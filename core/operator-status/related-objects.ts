/** What a collector of diagnostics takes with the status, as in MCO (pkg/operator/status.go, 006209bb). */

import { MCO_GROUP, NAMESPACE, OPERATOR_GROUP, SLIPWAY_GROUP } from '../names';
import type { RelatedObject } from './types';

export const RELATED_OBJECTS: readonly RelatedObject[] = [
  { group: '', resource: 'namespaces', name: NAMESPACE },
  ...['machineconfigpools', 'machineconfignodes', 'machineconfigs', 'controllerconfigs'].map(ofMco),
  ...['kubeletconfigs', 'containerruntimeconfigs', 'osimagestreams', 'pinnedimagesets'].map(ofMco),
  { group: OPERATOR_GROUP, resource: 'machineconfigurations', name: 'cluster' },
  { group: SLIPWAY_GROUP, resource: 'slipways', name: 'cluster' },
  { group: SLIPWAY_GROUP, resource: 'poolrollouts', name: '' },
  { group: SLIPWAY_GROUP, resource: 'rolloutpolicies', name: '' },
  { group: '', resource: 'nodes', name: '' },
];

function ofMco(resource: string): RelatedObject {
  return { group: MCO_GROUP, resource, name: '' };
}
