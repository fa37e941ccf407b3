import { FIELD_MANAGER, LABEL } from '../names';
import type { ObjectMeta } from '../object-meta';

export const OWN_LABELS = {
  [LABEL.MANAGED_BY]: FIELD_MANAGER.CONTROLLERS,
  'app.kubernetes.io/part-of': 'slipway',
} as const;

/** cert-manager keeps the labels of a Secret that it takes over. */
const OF_CERT_MANAGER = 'cert-manager.io/certificate-name';

/** Whether Slipway made the object. All others are of a person, or of another program. */
export function isOurs({ labels = {}, annotations = {} }: ObjectMeta): boolean {
  if (annotations[OF_CERT_MANAGER] !== undefined) return false;
  return labels[LABEL.MANAGED_BY] === FIELD_MANAGER.CONTROLLERS;
}
