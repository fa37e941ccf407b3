import type { FirstBootFacts } from '../../core/first-boot';
import { BUNDLE_PATH, type BundleContents, composeBundle } from '../../core/host-bundle';

const SAID_BY_FIELD: readonly string[] = [
  BUNDLE_PATH.KUBELET_AUTHORITY,
  BUNDLE_PATH.CLOUD_AUTHORITY,
];

/**
 * PEM in base 64; an authority that does not decode counts as absent.
 *
 * @param contents - of the bundles; absent = what the config alone says
 */
export function controllerFacts(
  config: object | undefined,
  contents: BundleContents = composeBundle(config, { state: 'unread', because: '' }),
): Pick<FirstBootFacts, 'kubeletAuthority' | 'cloudAuthority' | 'bundleFiles'> {
  const { spec = {} } = (config ?? {}) as { readonly spec?: Readonly<Record<string, unknown>> };
  const { kubeAPIServerServingCAData: kubelet, cloudProviderCAData: cloud } = spec;
  const bundleFiles = contents.files.filter(({ path }) => !SAID_BY_FIELD.includes(path));
  return {
    ...(typeof kubelet === 'string' ? { kubeletAuthority: kubelet } : {}),
    ...(typeof cloud === 'string' ? { cloudAuthority: cloud } : {}),
    ...(bundleFiles.length === 0 ? {} : { bundleFiles }),
  };
}
