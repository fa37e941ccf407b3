/** What first configs take from the ControllerConfig. */

import type { FirstBootFacts } from '../../core/first-boot';

/** The authorities, PEM in base 64 as the API has them; one that is no text counts as absent. */
export function controllerFacts(
  config: object | undefined,
): Pick<FirstBootFacts, 'kubeletAuthority' | 'cloudAuthority'> {
  const { spec = {} } = (config ?? {}) as { readonly spec?: Readonly<Record<string, unknown>> };
  const { kubeAPIServerServingCAData: kubelet, cloudProviderCAData: cloud } = spec;
  return {
    ...(typeof kubelet === 'string' ? { kubeletAuthority: kubelet } : {}),
    ...(typeof cloud === 'string' ? { cloudAuthority: cloud } : {}),
  };
}
