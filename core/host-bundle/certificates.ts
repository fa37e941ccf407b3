import type { NamedBundle } from '../certificates/expiry';
import { authorityIn, registryAuthorities } from './authorities';
import { specOf } from './compose';

/** MCO's names of the fields of a ControllerConfig. */
const FIELDS = {
  kubeAPIServerServingCAData: 'KubeAPIServerServingCAData',
  rootCAData: 'RootCAData',
  cloudProviderCAData: 'CloudProviderCAData',
} as const;

/** The certificates of a ControllerConfig that can be read. */
export function certificatesIn(controllerConfig: unknown): readonly NamedBundle[] {
  const spec = specOf(controllerConfig);
  const fields = Object.entries(FIELDS).flatMap(([field, bundle]) => {
    const found = authorityIn(spec, field);
    return found !== undefined && 'pem' in found ? [{ bundle, pem: found.pem }] : [];
  });
  const registries = [...registryAuthorities(spec).files].map(([path, pem]) => ({
    bundle: path,
    pem,
  }));
  return [...fields, ...registries];
}
